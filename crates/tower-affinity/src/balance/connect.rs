//! [`Connect`]: what speaks to an endpoint.

use std::sync::Arc;

use http::Request;
use tower_service::Service;

use super::endpoint::Endpoint;

/// Makes the service that speaks to an endpoint; closures are one.
///
/// It is called once for each request, with the endpoint that was picked, so it is cheap: it hands
/// out clones of pooled clients. It is not shared, so pools that stay on one thread fit too.
pub trait Connect<B> {
    /// What takes one request to the endpoint. Its readiness is awaited.
    type Service: Service<Request<B>>;

    /// The service for `endpoint`.
    fn connect(&self, endpoint: &Arc<Endpoint>) -> Self::Service;
}

impl<F, S, B> Connect<B> for F
where
    F: Fn(&Arc<Endpoint>) -> S,
    S: Service<Request<B>>,
{
    type Service = S;

    fn connect(&self, endpoint: &Arc<Endpoint>) -> S {
        self(endpoint)
    }
}
