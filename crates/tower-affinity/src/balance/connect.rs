//! [`Connect`]: what speaks to an endpoint.

use std::borrow::Cow;
use std::sync::Arc;

use http::{Extensions, Request};
use tower_service::Service;

use super::endpoint::Endpoint;
use super::lease::Lease;

/// Makes the service that speaks to an endpoint; closures are one.
///
/// It is called once for each attempt, with the endpoint that was picked, so it is cheap: it hands
/// out clones of pooled clients. It is not shared, so pools that stay on one thread fit too.
pub trait Connect<B> {
    /// What takes one request to the endpoint. Its readiness is awaited.
    type Service: Service<Request<B>>;

    /// The service for `endpoint`.
    fn connect(&self, endpoint: &Arc<Endpoint>) -> Self::Service;

    /// The service for one attempt, and the extensions with which it gets the request.
    ///
    /// By default it gets all `extensions` of the request, and its [`Lease`]. They are borrowed if
    /// another attempt may need them, and to clone them is a good part of what a request costs here:
    /// a service that needs little of them is cheaper if that is handed to it in another way.
    fn attempt(
        &self,
        lease: &Lease,
        extensions: Cow<'_, Extensions>,
    ) -> (Self::Service, Extensions) {
        let mut extensions = extensions.into_owned();
        extensions.insert(lease.clone());
        (self.connect(lease.endpoint()), extensions)
    }
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
