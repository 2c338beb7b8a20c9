//! The endpoint of a session that is bound to one (level `endpoint`).

use std::net::SocketAddr;
use std::sync::Arc;

use tower_affinity_core::{
    DrawKey, EndpointId, GroupId, Live, Timestamp, endpoint_draw, endpoint_rank,
};

use super::balancing::Balancing;
use super::endpoint::Endpoint;
use super::pick::Picked;

/// What a session wants that is bound to one endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    /// The endpoint that its pin names.
    pub(crate) named: Option<&'a EndpointId>,
    /// What another is chosen by, the same for all of the session's requests.
    pub(crate) key: DrawKey,
    /// How many sessions live where, if the other one is chosen by that.
    pub(crate) live: Option<(&'a GroupId, &'a dyn Live)>,
    /// Whether the session begins: it has nothing to lose at an endpoint that is to be tried.
    pub(crate) begins: bool,
}

/// Whether `endpoint` takes requests of the sessions that are bound to it: it may also be draining,
/// but not ejected while there are others. One that drains gets no new requests that could try it,
/// so its own sessions do when it is time.
pub(super) fn keeps(
    endpoints: &[Arc<Endpoint>],
    endpoint: &Endpoint,
    panics: bool,
    now: impl FnOnce() -> Timestamp,
) -> bool {
    let others = || endpoints.iter().any(|e| e.takes_any(panics) && !is_out(e));
    let is_tried = || !endpoint.takes_any(panics) && endpoint.ejection().is_due(now());
    endpoint.takes_bound(panics) && (!is_out(endpoint) || !others() || is_tried())
}

/// The endpoint that the session's pin names; else the one that is the first for its key among
/// those that any request could use, or where sessions are counted the one of the first two at which
/// fewer live. `None` if that is for every request alike.
///
/// A named endpoint is taken however busy it is: what it has of the session no other one has. One
/// that starts is the first for as many keys as its share says: those that it has stay while its
/// share grows.
pub(super) fn choose<'a>(
    endpoints: &'a [Arc<Endpoint>],
    bound: &Bound<'_>,
    avoid: &[SocketAddr],
    balancing: &Balancing,
    panics: bool,
    now: impl Fn() -> Timestamp,
) -> Option<Picked<'a>> {
    let fresh = |endpoint: &Endpoint| !avoid.contains(&endpoint.address());
    let named = endpoints.iter().find(|e| Some(e.id()) == bound.named);
    if let Some(endpoint) = named.filter(|e| fresh(e) && keeps(endpoints, e, panics, &now)) {
        let probes = is_out(endpoint) && endpoint.ejection().probe(now());
        return Some(Picked { endpoint, probes });
    }
    let limit = balancing.max_in_flight.unwrap_or(usize::MAX);
    let may = |e: &Endpoint| e.takes_any(panics) && fresh(e) && e.in_flight() < limit;
    let has_share = |e: &Endpoint| {
        let share = || e.share(balancing.slow_start, now());
        !e.is_starting() || endpoint_draw(bound.key, e.id()) < share()
    };
    // of those without a share in it the first too, before none
    let rank = |e: &&Arc<Endpoint>| (has_share(e), endpoint_rank(bound.key, e.id()));
    let first = |may: &dyn Fn(&Endpoint) -> bool| {
        let able = || endpoints.iter().filter(|e| may(e));
        let first = able().max_by_key(rank)?;
        let Some((group, live)) = bound.live else {
            return Some(first);
        };
        let others = able().filter(|e| !Arc::ptr_eq(e, first) && has_share(e));
        let sessions = |e: &Endpoint| live.at(group, e.id());
        let second = others.max_by_key(rank);
        second
            .filter(|second| sessions(second) < sessions(first))
            .or(Some(first))
    };
    let endpoint = first(&may)?;
    if !is_out(endpoint) {
        return Some(Picked {
            endpoint,
            probes: false,
        });
    }
    if bound.begins && endpoint.ejection().probe(now()) {
        return Some(Picked {
            endpoint,
            probes: true,
        });
    }
    let endpoint = first(&|e| may(e) && !is_out(e))?;
    Some(Picked {
        endpoint,
        probes: false,
    })
}

fn is_out(endpoint: &Endpoint) -> bool {
    endpoint.ejection().is_on()
}

impl std::fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound")
            .field("named", &self.named)
            .field("by_load", &self.live.is_some())
            .field("begins", &self.begins)
            .finish_non_exhaustive()
    }
}
