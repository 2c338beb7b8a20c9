//! How a pin travels: in a cookie, or in a header for clients without cookies.

mod attributes;
pub(crate) mod cookie;
pub(crate) mod header;

pub use tower_affinity_core::Carrier;

pub use self::attributes::{CookieAttributes, CookieError, SameSite};
