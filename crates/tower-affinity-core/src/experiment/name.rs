//! The names of experiments and of their arms.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::InvalidName;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $kind:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// `[a-z0-9-]{1,32}`.
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                if is_name(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidName::new($kind, "1 to 32 of a-z 0-9 -"))
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}
names! {
    /// The name of an experiment. It is never used for another one, whose draws would be the same.
    ExperimentName, "experiment's name";
    /// The name of an arm of an experiment.
    ArmName, "arm's name";
}

fn is_name(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=32).contains(&text.len()) && text.bytes().all(inner)
}
