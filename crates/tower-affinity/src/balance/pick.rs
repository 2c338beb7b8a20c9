//! Picks an endpoint of a group: the power of two choices on requests in flight.

use std::sync::Arc;

use super::endpoint::{Endpoint, EndpointState};

/// The less busy one of two that are drawn from the ready endpoints; `None` if none can be used.
///
/// Below half healthy, health is ignored. If none is healthy, `doubtful` says whether to ignore
/// that as well.
pub(super) fn pick(
    endpoints: &[Arc<Endpoint>],
    doubtful: impl FnOnce() -> bool,
) -> Option<&Arc<Endpoint>> {
    let ready = endpoints.iter().filter(|e| is_ready(e)).count();
    let usable = endpoints.iter().filter(|e| e.is_usable()).count();
    let panics = ready * 2 < usable && (ready > 0 || doubtful());
    if panics {
        less_busy(usable, || endpoints.iter().filter(|e| e.is_usable()))
    } else {
        less_busy(ready, || endpoints.iter().filter(|e| is_ready(e)))
    }
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
