//! Which groups have a ready endpoint, as one replica sees it.

use std::sync::Arc;
use std::time::Duration;

use crate::{EndpointId, EndpointRef, GroupName, Timestamp};

/// How long a group may be without a ready endpoint before it counts as lost (`Tg`).
pub const GROUP_GRACE: Duration = Duration::from_secs(10);

/// Whether a group has a ready endpoint here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// At least one endpoint is ready.
    Yes,
    /// None is.
    No {
        /// When one was last ready here, at the earliest the end of the first check round.
        since: Timestamp,
    },
}

/// The view of what is ready, taken together with the rollout snapshot.
pub trait Readiness: Send + Sync {
    /// Whether `group` has a ready endpoint.
    fn of(&self, group: &GroupName) -> Ready;

    /// Whether `endpoint` of `group` takes requests of the sessions that are pinned to it.
    ///
    /// By default it does: a view that knows no endpoints has nothing to say against one.
    fn has(&self, group: &GroupName, endpoint: &EndpointRef) -> bool {
        let _ = (group, endpoint);
        true
    }

    /// The endpoints of `group`, whatever their state: the same list, by its address, for as long
    /// as nothing has changed. A pin's endpoint is looked for among these.
    ///
    /// By default `None`: the view knows no endpoints.
    fn endpoint_ids(&self, group: &GroupName) -> Option<Arc<[EndpointId]>> {
        let _ = group;
        None
    }
}

/// The view of a service that has no endpoints of its own to look at: everything is ready.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysReady;

impl Readiness for AlwaysReady {
    fn of(&self, _: &GroupName) -> Ready {
        Ready::Yes
    }
}

impl<R: Readiness + ?Sized> Readiness for Arc<R> {
    fn of(&self, group: &GroupName) -> Ready {
        (**self).of(group)
    }

    fn has(&self, group: &GroupName, endpoint: &EndpointRef) -> bool {
        (**self).has(group, endpoint)
    }

    fn endpoint_ids(&self, group: &GroupName) -> Option<Arc<[EndpointId]>> {
        (**self).endpoint_ids(group)
    }
}
