//! [`Lease`]: a request's place at its endpoint.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tower_affinity_core::{EndpointId, GroupId, GroupName, Timestamp};

use super::budget::Budget;
use super::endpoint::Endpoint;
use super::group::Load;
use super::pick::Picked;
use super::switch::Switch;
use super::wanted::Wanted;

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
    load: Arc<Load>,
    /// That of the group's id. The name is the group's: a request needs no copy of it.
    generation: u32,
    /// Its place and switch among the open streams, once something has to be waited for.
    stream: OnceLock<(u64, Arc<Switch>)>,
    endpoint: Arc<Endpoint>,
    /// When it was asked for, where that is measured.
    began: Option<Timestamp>,
    /// That of the endpoint's ejection then.
    epoch: u32,
    /// Whether its session is bound to one endpoint.
    bound: bool,
    /// Whether it holds the right to try the ejected endpoint.
    probes: AtomicBool,
    guards: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Lease {
    /// A place, unless the group or the endpoint has no room for it.
    pub(super) fn acquire(
        wanted: &Wanted<'_>,
        load: &Arc<Load>,
        picked: &Picked<'_>,
        (limit, most): (usize, usize),
        (began, now): (Option<Timestamp>, impl FnOnce() -> Timestamp),
    ) -> Option<Self> {
        let endpoint = picked.endpoint;
        if !load.enter(wanted.pinned, most, now) {
            return None;
        }
        if !endpoint.enter(limit) {
            load.leave();
            return None;
        }
        Some(Self(Arc::new(Held {
            generation: wanted.id.generation(),
            stream: OnceLock::new(),
            endpoint: Arc::clone(endpoint),
            began,
            epoch: endpoint.ejection().epoch(),
            bound: wanted.bound.is_some(),
            probes: AtomicBool::new(picked.probes),
            load: Arc::clone(load),
            guards: Mutex::new(Vec::new()),
        })))
    }

    pub(super) fn began(&self) -> Option<Timestamp> {
        self.0.began
    }

    pub(super) fn epoch(&self) -> u32 {
        self.0.epoch
    }

    /// The endpoint that the session of the request is bound to; `None` if it is to none.
    pub(super) fn bound_to(&self) -> Option<&EndpointId> {
        self.0.bound.then(|| self.endpoint().id())
    }

    /// The attempt is over: another request may try the endpoint.
    pub(super) fn probed(&self) {
        self.0.probed();
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0.endpoint
    }

    /// The name of the endpoint's group.
    #[must_use]
    pub fn group(&self) -> &GroupName {
        self.0.load.name()
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
        let (_, switch) = held.stream.get_or_init(|| {
            let id = GroupId::new(held.load.name().clone(), held.generation);
            held.load.open.enter(&id)
        });
        switch
    }
}

impl Held {
    fn probed(&self) {
        if self.probes.load(Ordering::Relaxed) && self.probes.swap(false, Ordering::Relaxed) {
            self.endpoint.ejection().probed();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.probed();
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
