//! Facts about the leaf, its groups and its bodies.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod bound;
mod calm;
mod connect;
mod cost;
mod cuts;
mod flight;
mod groups;
mod pick;
mod replay;
mod retries;
mod script;
mod serve;
mod states;

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use tower_affinity_core::GroupId;
use tower_affinity_testing::{id, name};

use super::{EndpointState, Groups, Lease, Source, Unserved, Wanted};

/// The `n`th address of the tests.
fn address(n: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7000 + n))
}

/// Groups with that many endpoints each, one after another.
fn groups(sizes: &[(&str, u16)]) -> Groups {
    let groups = Groups::default();
    let mut next = 0;
    for (group, size) in sizes {
        groups.update(&name(group), (next..next + size).map(address));
        next += size;
    }
    groups
}

/// A request without a body, of a session that is pinned to `group`.
fn pinned(group: &str) -> Request<Empty<Bytes>> {
    crate::fixtures::pinned(group).map(|()| Empty::new())
}

fn unhealthy(groups: &Groups, group: &str, endpoint: u16) {
    let state = EndpointState::Unhealthy;
    groups.report(&name(group), address(endpoint), Source::Health, state);
}

fn healthy(groups: &Groups, group: &str, endpoint: u16) {
    let state = EndpointState::Ready;
    groups.report(&name(group), address(endpoint), Source::Health, state);
}

fn draining(groups: &Groups, group: &str, endpoint: u16) {
    let state = EndpointState::Draining;
    groups.report(&name(group), address(endpoint), Source::Control, state);
}

/// A place for a request of a session that is pinned to `group`.
fn acquire(groups: &Groups, group: &str) -> Result<Lease, Unserved> {
    acquire_id(groups, &id(group))
}

fn acquire_id(groups: &Groups, id: &GroupId) -> Result<Lease, Unserved> {
    groups.acquire(&Wanted {
        id,
        pinned: true,
        bound: None,
        avoid: &[],
    })
}
