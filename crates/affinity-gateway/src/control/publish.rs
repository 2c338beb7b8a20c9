//! Gives the balancer the endpoints of all groups that have some.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tower_affinity::balance::Groups;
use tower_affinity::core::{Rollout, State};

pub(super) fn publish_endpoints(
    groups: &Groups,
    rollout: &Rollout,
    endpoints: &BTreeMap<String, Vec<SocketAddr>>,
    limits: &BTreeMap<String, u32>,
) {
    for group in rollout.groups() {
        let name = group.name();
        match endpoints.get(name.as_str()) {
            Some(addresses) if !matches!(group.state(), State::Retired { .. }) => {
                // a list that the configuration or an operator writes empty is meant to be empty
                if addresses.is_empty() {
                    groups.clear(name);
                } else {
                    groups.update(name, addresses.iter().copied());
                }
                groups.limit(name, limits.get(name.as_str()).map(|limit| *limit as usize));
            }
            _ => {
                groups.remove(name);
            }
        }
    }
    for name in groups.names() {
        if rollout.group(&name).is_none() {
            groups.remove(&name);
        }
    }
}
