//! Names and numbers that identify things: parsed once at the edge, cheap to clone.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

use crate::base64url;

/// A name that does not have the form its type asks for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("a {kind} is {accepted}")]
pub struct InvalidName {
    kind: &'static str,
    accepted: &'static str,
}

impl InvalidName {
    pub(crate) const fn new(kind: &'static str, accepted: &'static str) -> Self {
        Self { kind, accepted }
    }

    /// What is accepted, as a phrase that fits after "accepted: ".
    #[must_use]
    pub fn accepted(&self) -> &'static str {
        self.accepted
    }
}

/// The immutable name of a deployment group: a commit, an image digest or a build id.
///
/// `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`; the words `none` and `unknown` are refused, since metrics
/// use them for requests without a known group.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupName(Arc<str>);

impl GroupName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GroupName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
        let valid = text.len() <= 128
            && text
                .bytes()
                .next()
                .is_some_and(|b| b.is_ascii_alphanumeric())
            && text.bytes().all(inner)
            && !matches!(text, "none" | "unknown");
        if !valid {
            return Err(InvalidName {
                kind: "group name",
                accepted: "1 to 128 of A-Z a-z 0-9 . _ : - that begin with a letter or digit, \
                           except \"none\" and \"unknown\"",
            });
        }
        Ok(Self(text.into()))
    }
}

/// The identity of a group: its name and how often that name was registered or restored.
///
/// Pins name one generation; endpoints, headers and metrics use the name alone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId {
    name: GroupName,
    generation: u32,
}

impl GroupId {
    /// The id of `name` in its `generation` (the first is 1).
    #[must_use]
    pub fn new(name: GroupName, generation: u32) -> Self {
        Self { name, generation }
    }

    /// The name, shared by all generations.
    #[must_use]
    pub fn name(&self) -> &GroupName {
        &self.name
    }

    /// Which registration of the name this is, from 1.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.generation)
    }
}

impl fmt::Debug for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The service that pins are made for: the audience of the tokens and part of the cookie's name.
///
/// `[a-z0-9-]{1,32}`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ServiceName(Arc<str>);

impl ServiceName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServiceName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !(1..=32).contains(&text.len()) || !text.bytes().all(inner) {
            return Err(InvalidName {
                kind: "service name",
                accepted: "1 to 32 of a-z 0-9 -",
            });
        }
        Ok(Self(text.into()))
    }
}

/// The name of one endpoint of a group, as discovery gives it (usually its address).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndpointId(Arc<str>);

impl EndpointId {
    /// An endpoint's name; any text that discovery gives.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_forms {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
    )*};
}
text_forms!(GroupName, ServiceName, EndpointId);

/// The id of a session: 128 random bits that only we make.
///
/// Its `Debug` form is cut to two characters, since a session id has no place in a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u128);

impl SessionId {
    /// A session id from 128 bits of the system's random generator.
    #[must_use]
    pub const fn from_random(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits of the id.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// The id as text, in ASCII: for whoever writes it into room of its own.
    #[must_use]
    pub fn symbols(self) -> [u8; 22] {
        base64url::encode(&self.0.to_be_bytes())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.symbols()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}…", self.0 >> 120)
    }
}

impl FromStr for SessionId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match base64url::decode_exactly(text.as_bytes()) {
            Some(bytes) => Ok(Self(u128::from_be_bytes(bytes))),
            None => Err(InvalidName {
                kind: "session id",
                accepted: "22 symbols of base64url",
            }),
        }
    }
}

/// The number of a rollout's state; every accepted change gets a greater one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 10]);

        impl $name {
            pub(crate) const fn new(bytes: [u8; 10]) -> Self {
                Self(bytes)
            }

            pub(crate) fn encode(self) -> String {
                URL_SAFE_NO_PAD.encode(self.0)
            }

            pub(crate) fn decode(text: &str) -> Option<Self> {
                base64url::decode_exactly(text.as_bytes()).map(Self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )*};
}
codes!(
    /// The opaque form of a [`GroupId`] in a token: 80 bits of a keyed hash.
    GroupCode,
    /// The opaque form of an [`EndpointId`] in a token: 80 bits of a keyed hash.
    EndpointCode
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_are_a_closed_alphabet() {
        for good in ["9f1c2ab", "sha256:00ff", "v1.2.3-rc_1", "A"] {
            assert_eq!(good.parse::<GroupName>().unwrap().as_str(), good);
        }
        let long = "a".repeat(129);
        for bad in [
            "",
            "-a",
            "a b",
            "a/b",
            "é",
            "none",
            "unknown",
            "a\n",
            long.as_str(),
        ] {
            assert!(bad.parse::<GroupName>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_session_id_is_its_text() {
        let id = SessionId::from_random(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        assert_eq!(id.to_string().parse::<SessionId>().unwrap(), id);
        assert_eq!(id.to_string().len(), 22);
        assert!(
            !format!("{id:?}").contains(&id.to_string()[..4]),
            "debug shows the id"
        );
    }

    #[test]
    fn only_the_canonical_text_is_a_session_id() {
        let text = SessionId::from_random(7).to_string();
        let spare_bits = format!("{}{}", &text[..21], "x");
        for bad in [spare_bits.as_str(), "", &text[..21], &format!("{text}=")] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?} was accepted");
        }
    }
}
