//! Picks an endpoint of a group: the power of two choices.

use std::net::SocketAddr;
use std::sync::Arc;

use tower_affinity_core::Timestamp;

use super::balancing::{Balancing, Choice};
use super::endpoint::Endpoint;

/// An endpoint that was picked.
#[derive(Debug)]
pub(super) struct Picked<'a> {
    pub(super) endpoint: &'a Arc<Endpoint>,
    /// Whether this request tries an ejected endpoint: it holds the right to.
    pub(super) probes: bool,
}

/// Why no endpoint was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// None can be used.
    Ready,
    /// Those that can be used have as many requests as they may.
    Room,
}

/// The better one of two that are drawn from the endpoints that can be used.
///
/// Below half healthy, health is ignored. If none is healthy, `doubtful` says whether to ignore
/// that as well. Of those that are left, in this order: an ejected one that is due to be tried;
/// those that are neither ejected nor to `avoid`; those to `avoid`; with all ejected, all. `now` is
/// asked only if it matters.
pub(super) fn pick<'a>(
    endpoints: &'a [Arc<Endpoint>],
    avoid: &[SocketAddr],
    balancing: &Balancing,
    doubtful: impl FnOnce() -> bool,
    now: impl FnOnce() -> Timestamp,
) -> Result<Picked<'a>, Missing> {
    let panics = panics(endpoints, doubtful);
    let usable = |endpoint: &Endpoint| endpoint.takes_any(panics);
    let is_timed = balancing.choice == Choice::PeakEwma
        || endpoints
            .iter()
            .any(|e| e.is_starting() || e.ejection().is_on());
    let now = if is_timed {
        now()
    } else {
        Timestamp::default()
    };
    let limit = balancing.max_in_flight.unwrap_or(usize::MAX);
    let has_room = |endpoint: &Endpoint| endpoint.in_flight() < limit;
    // where all are ejected all are tried
    let has_others = || endpoints.iter().any(|e| usable(e) && !e.ejection().is_on());
    if is_timed && avoid.is_empty() && has_others() {
        let mut ejected = endpoints.iter().filter(|e| usable(e) && has_room(e));
        if let Some(endpoint) = ejected.find(|e| e.ejection().probe(now)) {
            return Ok(Picked {
                endpoint,
                probes: true,
            });
        }
    }
    let mut missing = Missing::Ready;
    for (avoids, ejects) in [(true, true), (false, true), (true, false), (false, false)] {
        if avoids && avoid.is_empty() {
            continue;
        }
        let may = |endpoint: &Endpoint| {
            usable(endpoint)
                && !(ejects && endpoint.ejection().is_on())
                && !(avoids && avoid.contains(&endpoint.address()))
        };
        let (mut count, mut roomy) = (0, 0);
        for endpoint in endpoints.iter().filter(|e| may(e)) {
            count += 1;
            roomy += usize::from(has_room(endpoint));
        }
        let candidates = || endpoints.iter().filter(|e| may(e) && has_room(e));
        if let Some(endpoint) = better_of_two(roomy, candidates, balancing, now) {
            return Ok(Picked {
                endpoint,
                probes: false,
            });
        }
        if count > 0 {
            missing = Missing::Room;
            // full endpoints are no reason to ask one that fails
            if !avoids {
                break;
            }
        }
    }
    Err(missing)
}

/// The better one of two that are drawn from all endpoints, of which each can be used, takes its whole
/// share and is not ejected. `None` if one of the two has as many requests as it may: then those that
/// have room are to be counted.
pub(super) fn pick_any<'a>(
    endpoints: &'a [Arc<Endpoint>],
    balancing: &Balancing,
    now: impl FnOnce() -> Timestamp,
) -> Option<Picked<'a>> {
    let (one, other) = two_of(endpoints.len(), |nth| endpoints.get(nth))?;
    let limit = balancing.max_in_flight.unwrap_or(usize::MAX);
    let has_room = |endpoint: &Endpoint| endpoint.in_flight() < limit;
    if !has_room(one) || !other.is_none_or(|other| has_room(other)) {
        return None;
    }
    let now = match balancing.choice {
        Choice::LeastInFlight => Timestamp::default(),
        Choice::PeakEwma => now(),
    };
    Some(Picked {
        endpoint: better(one, other, balancing, now),
        probes: false,
    })
}

/// Whether the health of the endpoints is ignored.
pub(super) fn panics(endpoints: &[Arc<Endpoint>], doubtful: impl FnOnce() -> bool) -> bool {
    let ready = endpoints.iter().filter(|e| e.is_ready()).count();
    let usable = endpoints.iter().filter(|e| e.is_usable()).count();
    ready * 2 < usable && (ready > 0 || doubtful())
}

fn better_of_two<'a, I>(
    count: usize,
    candidates: impl Fn() -> I,
    balancing: &Balancing,
    now: Timestamp,
) -> Option<&'a Arc<Endpoint>>
where
    I: Iterator<Item = &'a Arc<Endpoint>>,
{
    // a state may have changed since they were counted: the first one then
    let nth = |n| candidates().nth(n).or_else(|| candidates().next());
    let (one, other) = two_of(count, nth)?;
    Some(better(one, other, balancing, now))
}

/// Two different ones of `count`, drawn at random; one if there is no other.
fn two_of<T>(count: usize, nth: impl Fn(usize) -> Option<T>) -> Option<(T, Option<T>)> {
    if count == 0 {
        return None;
    }
    let first = fastrand::usize(..count);
    let one = nth(first)?;
    if count == 1 {
        return Some((one, None));
    }
    let second = fastrand::usize(..count - 1);
    Some((one, nth(second + usize::from(second >= first))))
}

/// The one with less to do.
fn better<'a>(
    one: &'a Arc<Endpoint>,
    other: Option<&'a Arc<Endpoint>>,
    balancing: &Balancing,
    now: Timestamp,
) -> &'a Arc<Endpoint> {
    let Some(other) = other else { return one };
    let shares = [one, other].map(|e| e.share(balancing.slow_start, now));
    // one that starts comes into question in its share of draws only, so that an idle group does
    // not give it more
    match shares.map(|share| share >= 1.0 || fastrand::f32() < share) {
        [true, false] => return one,
        [false, true] => return other,
        [true, true] | [false, false] => {}
    }
    let cost = |endpoint: &Endpoint, share: f32| match balancing.choice {
        Choice::LeastInFlight => endpoint.in_flight() as f32 / share,
        Choice::PeakEwma => {
            (endpoint.in_flight() as f32 + 1.0) * endpoint.latency().load(now) / share
        }
    };
    let [one_share, other_share] = shares;
    if cost(other, other_share) < cost(one, one_share) {
        other
    } else {
        one
    }
}
