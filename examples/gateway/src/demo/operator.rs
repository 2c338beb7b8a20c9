//! What the operator of the demo orders, and who can carry it out.

use std::{fmt, net::SocketAddr};

/// One order to the gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Register(&'static str),
    Weights(&'static [(&'static str, u32)]),
    Promote(&'static str),
    Abort(&'static str),
}

/// The weights that an order left behind, by group.
pub(crate) type Weights = Vec<(String, u32)>;

/// Someone who carries out orders: the gateway's control side.
pub(crate) trait Operator {
    /// Carries out one order; `endpoints` are those of the commit that a `Register` names.
    fn obey(
        &self,
        order: Order,
        endpoints: &[SocketAddr],
    ) -> impl Future<Output = Result<Weights, Refused>>;
}

/// An order that was not carried out, in the words of who refused it.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(group) => write!(f, "register {group}"),
            Self::Weights(weights) => {
                f.write_str("weights")?;
                weights
                    .iter()
                    .try_for_each(|(group, weight)| write!(f, " {group}={weight}"))
            }
            Self::Promote(group) => write!(f, "promote {group}"),
            Self::Abort(group) => write!(f, "abort {group}"),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
