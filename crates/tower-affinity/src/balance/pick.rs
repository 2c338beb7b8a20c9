//! Picks an endpoint of a group: the power of two choices on requests in flight.

use std::net::SocketAddr;
use std::sync::Arc;

use tower_affinity_core::Timestamp;

use super::endpoint::{Endpoint, EndpointState};

/// The less busy one of two that are drawn from the ready endpoints; `None` if none can be used.
///
/// Below half healthy, health is ignored. If none is healthy, `doubtful` says whether to ignore
/// that as well. Of those that are left, one that could not be reached last rests while there are
/// others, and those to `avoid` are left out while there are others.
pub(super) fn pick<'a>(
    endpoints: &'a [Arc<Endpoint>],
    avoid: &[SocketAddr],
    doubtful: impl FnOnce() -> bool,
    now: impl FnOnce() -> Timestamp,
) -> Option<&'a Arc<Endpoint>> {
    let ready = endpoints.iter().filter(|e| is_ready(e)).count();
    let usable = endpoints.iter().filter(|e| e.is_usable()).count();
    let panics = ready * 2 < usable && (ready > 0 || doubtful());
    let may = |endpoint: &Endpoint| {
        if panics {
            endpoint.is_usable()
        } else {
            is_ready(endpoint)
        }
    };
    if !avoid.is_empty() || endpoints.iter().any(|endpoint| endpoint.rest().may_be_on()) {
        let now = now();
        let fresh = |endpoint: &Endpoint| !avoid.contains(&endpoint.address());
        let rested =
            |endpoint: &Endpoint| may(endpoint) && fresh(endpoint) && !endpoint.rest().is_on(now);
        let count = endpoints.iter().filter(|e| rested(e)).count();
        if count > 0 {
            return less_busy(count, || endpoints.iter().filter(|e| rested(e)));
        }
    }
    if !avoid.is_empty() {
        let fresh = |endpoint: &Endpoint| may(endpoint) && !avoid.contains(&endpoint.address());
        let count = endpoints.iter().filter(|e| fresh(e)).count();
        if count > 0 {
            return less_busy(count, || endpoints.iter().filter(|e| fresh(e)));
        }
    }
    let count = if panics { usable } else { ready };
    less_busy(count, || endpoints.iter().filter(|e| may(e)))
}

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.state() == EndpointState::Ready
}

fn less_busy<'a, I>(count: usize, candidates: impl Fn() -> I) -> Option<&'a Arc<Endpoint>>
where
    I: Iterator<Item = &'a Arc<Endpoint>>,
{
    if count == 0 {
        return None;
    }
    // a state may have changed since they were counted: the first one then
    let nth = |n| candidates().nth(n).or_else(|| candidates().next());
    let first = fastrand::usize(..count);
    let one = nth(first)?;
    if count == 1 {
        return Some(one);
    }
    let second = fastrand::usize(..count - 1);
    let other = nth(second + usize::from(second >= first))?;
    Some(if other.in_flight() < one.in_flight() {
        other
    } else {
        one
    })
}
