//! The header `affinity-pin`, for clients without cookies. An empty one asks for a pin.

use http::header::{HeaderMap, HeaderName};

/// The header's name, in both directions.
pub(crate) const PIN: HeaderName = HeaderName::from_static("affinity-pin");

/// The values of all such headers, in the order in which they were sent; an empty one asks only.
pub(crate) fn candidates(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers
        .get_all(PIN)
        .iter()
        .map(|value| value.as_bytes())
        .filter(|value| !value.is_empty())
}
