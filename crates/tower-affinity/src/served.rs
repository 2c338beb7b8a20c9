//! [`ServedBy`]: which endpoint an answer is from.

use tower_affinity_core::EndpointId;

/// The endpoint that an answer is from: an extension of the response, left by the leaf at level
/// [`Endpoint`](tower_affinity_core::Level::Endpoint).
///
/// A session that has no endpoint yet, or whose endpoint is gone, stays on this one from now on; so
/// does one whose endpoint ([`Decision::endpoint`](tower_affinity_core::Decision::endpoint)) is
/// another: the leaf has found that to be gone. A leaf of your own leaves it too, or its sessions are
/// bound to their group alone.
///
/// ```
/// use tower_affinity::ServedBy;
/// use tower_affinity::core::EndpointId;
///
/// let mut response = http::Response::new("");
/// response.extensions_mut().insert(ServedBy::new(EndpointId::new("10.0.0.1:8080")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedBy(EndpointId);

impl ServedBy {
    /// An answer from that endpoint.
    #[must_use]
    pub fn new(endpoint: EndpointId) -> Self {
        Self(endpoint)
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &EndpointId {
        &self.0
    }
}
