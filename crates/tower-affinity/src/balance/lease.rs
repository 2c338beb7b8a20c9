//! [`Lease`]: a request's place at its endpoint.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tower_affinity_core::{GroupId, GroupName};

use super::budget::Budget;
use super::endpoint::Endpoint;
use super::group::Load;
use super::switch::Switch;

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
    id: GroupId,
    load: Arc<Load>,
    /// Its place and switch among the open streams, once something has to be waited for.
    stream: OnceLock<(u64, Arc<Switch>)>,
    endpoint: Arc<Endpoint>,
    guards: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Lease {
    /// A place, unless the group has no room for it.
    pub(super) fn acquire(
        id: &GroupId,
        load: &Arc<Load>,
        endpoint: &Arc<Endpoint>,
        pinned: bool,
    ) -> Option<Self> {
        if !load.enter(pinned) {
            return None;
        }
        endpoint.enter();
        Some(Self(Arc::new(Held {
            id: id.clone(),
            stream: OnceLock::new(),
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
    pub fn group(&self) -> &GroupName {
        self.0.id.name()
    }

    /// Drops `guard` when the lease ends: for everything else that lasts as long.
    pub fn hold(&self, guard: impl Send + 'static) {
        let guards = self.0.guards.lock();
        guards
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(guard));
    }

    /// How many further attempts its group may take.
    pub(super) fn budget(&self) -> &Budget {
        &self.0.load.budget
    }

    pub(super) fn is_cut(&self) -> bool {
        self.0
            .stream
            .get()
            .is_some_and(|(_, switch)| switch.is_cut())
    }

    /// The switch of what the request has open; from the first call on it is an open stream.
    pub(super) fn switch(&self) -> &Switch {
        let held = &*self.0;
        let (_, switch) = held.stream.get_or_init(|| held.load.open.enter(&held.id));
        switch
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.endpoint.leave();
        self.load.leave();
        if let Some((place, _)) = self.stream.get() {
            self.load.open.leave(*place);
        }
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
