//! [`Lease`]: a request's place at its endpoint.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::endpoint::Endpoint;
use super::group::Load;

/// A request's place at its endpoint: an extension of the request.
///
/// The request is in flight until the last clone is dropped. The leaf's answer body holds one; a
/// service that tunnels an upgraded connection moves another into the task that copies, since the
/// body of a 101 ends at once. An axum handler takes it as `Extension<Lease>`.
///
/// ```
/// use tower_affinity::balance::Lease;
///
/// async fn tunnel<B>(mut request: http::Request<B>) {
///     let lease = request.extensions_mut().remove::<Lease>();
///     // copy both ways until one side ends
///     drop(lease);
/// }
/// ```
#[derive(Clone)]
pub struct Lease(Arc<Held>);

struct Held {
    endpoint: Arc<Endpoint>,
    load: Arc<Load>,
    guards: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Lease {
    /// A place, unless the group is at its limit.
    pub(super) fn acquire(load: &Arc<Load>, endpoint: &Arc<Endpoint>) -> Option<Self> {
        if !load.enter() {
            return None;
        }
        endpoint.enter();
        Some(Self(Arc::new(Held {
            endpoint: Arc::clone(endpoint),
            load: Arc::clone(load),
            guards: Mutex::new(Vec::new()),
        })))
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0.endpoint
    }

    /// The name of the endpoint's group.
    #[must_use]
    pub fn group(&self) -> &tower_affinity_core::GroupName {
        &self.0.load.name
    }

    /// Drops `guard` when the lease ends: for everything else that lasts as long.
    pub fn hold(&self, guard: impl Send + 'static) {
        let guards = self.0.guards.lock();
        guards
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(guard));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.endpoint.leave();
        self.load.leave();
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("group", self.group())
            .field("endpoint", &self.endpoint().address())
            .finish_non_exhaustive()
    }
}
