//! [`Wanted`]: what a request wants of its group.

use std::net::SocketAddr;

use http::Extensions;
use tower_affinity_core::{Decision, GroupId, Kind, Live, LiveCounts};

use super::bound::Bound;
use crate::Affinity;

/// What a request wants: a place at an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The group that was decided.
    pub(crate) id: &'a GroupId,
    /// Whether a pin was obeyed. All others are new to the group, and give way to these.
    pub(crate) pinned: bool,
    /// Which endpoint; `None` for any.
    pub(crate) bound: Option<Bound<'a>>,
    /// Endpoints that were tried before: picked only if no other is left.
    pub(crate) avoid: &'a [SocketAddr],
}

impl<'a> Wanted<'a> {
    /// What was decided for a request; `None` if nothing was.
    pub(super) fn of(extensions: &'a Extensions) -> Option<Self> {
        let decision: &Decision = extensions.get().map(Affinity::decision)?;
        let id = decision.group.as_ref()?;
        // asked for only where it has a say
        let live = || match extensions.get() {
            Some(LiveCounts::Known(live)) => Some((id, &**live as &dyn Live)),
            Some(LiveCounts::Unknown) | None => None,
        };
        Some(Self {
            id,
            pinned: decision.kind == Kind::Pinned,
            bound: decision.endpoint_key.map(|key| Bound {
                named: decision.endpoint(),
                key,
                live: live(),
                begins: decision.kind == Kind::Assigned,
            }),
            avoid: &[],
        })
    }
}
