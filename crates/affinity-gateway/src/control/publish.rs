//! Gives the balancer the endpoints of all groups that have some.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

use tower_affinity::balance::Groups;
use tower_affinity::core::{GroupName, Rollout, State};

use super::live::Limits;
use super::store::Kept;

pub(super) fn publish_endpoints(groups: &Groups, rollout: &Rollout, kept: &Kept, limits: &Limits) {
    for group in rollout.groups() {
        let name = group.name();
        match kept.endpoints.get(name.as_str()) {
            Some(addresses) if !matches!(group.state(), State::Retired { .. }) => {
                // before the list, so that nothing new reaches what is drained in it
                let drains = kept.drains.get(name.as_str()).into_iter().flatten();
                groups.drain(name, drains.copied());
                // a list that the configuration or an operator writes empty is meant to be empty
                if addresses.is_empty() {
                    groups.clear(name);
                } else {
                    groups.update(name, addresses.iter().copied());
                }
                let serves = matches!(group.state(), State::Active | State::Draining { .. });
                groups.judge(name, serves);
                let limit = limits.get(name.as_str());
                groups.limit(name, limit.map(|(most, _)| *most as usize));
                groups.reserve(name, limit.map_or(0, |(_, percent)| *percent));
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

/// An address that two groups claim: its sessions would see two commits. Aborted and retired groups
/// have left theirs to whoever comes next.
pub(super) fn claimed_twice(
    rollout: &Rollout,
    endpoints: &BTreeMap<String, Vec<SocketAddr>>,
) -> Option<(SocketAddr, GroupName)> {
    let mut claimed: HashMap<(IpAddr, u16), &GroupName> = HashMap::new();
    for group in rollout.groups() {
        if matches!(group.state(), State::Aborted(_) | State::Retired { .. }) {
            continue;
        }
        for address in endpoints.get(group.name().as_str()).into_iter().flatten() {
            match claimed.insert(place(*address), group.name()) {
                Some(other) if other != group.name() => return Some((*address, other.clone())),
                _ => {}
            }
        }
    }
    None
}

/// One place has two spellings: `127.0.0.1` and `::ffff:127.0.0.1`.
pub(super) fn place(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}
