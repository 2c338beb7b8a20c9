//! How a pin travels: in a cookie, or in a header for clients without cookies.

mod attributes;
pub(crate) mod cookie;
pub(crate) mod header;

pub use self::attributes::{CookieAttributes, CookieError, SameSite};

/// The way in which a request's pin came, and the only one in which an answer's pin goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// `Cookie` and `Set-Cookie`.
    Cookie,
    /// The header `affinity-pin`, in both directions.
    Header,
}

/// The most candidates of one request that are verified.
pub(crate) const MAX_CANDIDATES: usize = 4;
