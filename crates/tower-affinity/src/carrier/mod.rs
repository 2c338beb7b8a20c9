//! How a pin travels: in a cookie, or in a header for clients without cookies, to which the query of
//! an upgrade belongs.

mod attributes;
pub(crate) mod cookie;
pub(crate) mod header;
pub(crate) mod query;

pub use tower_affinity_core::Carrier;

pub use self::attributes::{CookieAttributes, CookieError, SameSite};
