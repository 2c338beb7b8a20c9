//! Which addresses a registration may name: the rules that the configuration has for its groups.

use std::net::{IpAddr, SocketAddr};

use tower_affinity::core::{Group, GroupName, State};

use super::AdminOptions;
use super::problem::Problem;
use crate::config::{can_be_dialled, is_own};

/// # Errors
///
/// If an address is none of a server, is the gateway itself, or serves another group already.
pub(super) fn check(
    options: &AdminOptions,
    group: &GroupName,
    endpoints: &[SocketAddr],
) -> Result<(), Problem> {
    if endpoints.is_empty() {
        return Err(Problem::bad_request(
            "a group needs at least one endpoint, as IP:PORT",
        ));
    }
    for (nth, address) in endpoints.iter().enumerate() {
        if !can_be_dialled(address) {
            return Err(Problem::bad_request(format!(
                "{address} is no endpoint; the address and port of one server are needed"
            )));
        }
        if is_own(options.data, *address) || is_own(options.address, *address) {
            return Err(Problem::bad_request(format!(
                "{address} is the gateway itself; the address of an endpoint is needed"
            )));
        }
        let before = endpoints.get(..nth).unwrap_or_default();
        if before.iter().any(|other| place(*other) == place(*address)) {
            return Err(Problem::bad_request(format!("{address} is named twice")));
        }
        if let Some(other) = server_of(options, group, *address) {
            return Err(Problem::refused(false).detail(format!(
                "{address} is an endpoint of {other} already; one endpoint runs one commit"
            )));
        }
    }
    Ok(())
}

/// The other group that `address` serves. Aborted and retired ones have left theirs to whoever
/// comes next.
fn server_of(options: &AdminOptions, group: &GroupName, address: SocketAddr) -> Option<GroupName> {
    let rollout = options.control.rollouts().current();
    let retired = |group: &Group| matches!(group.state(), State::Retired { .. });
    if rollout.group(group).is_some_and(|group| !retired(group)) {
        // the rollout refuses it, and says why
        return None;
    }
    let mut others = rollout.groups().iter().filter(|other| {
        let gone = retired(other) || matches!(other.state(), State::Aborted(_));
        other.name() != group && !gone
    });
    let other = others.find(|other| {
        let endpoints = options.control.groups().endpoints(other.name());
        let mut places = endpoints.iter().map(|endpoint| place(endpoint.address()));
        places.any(|taken| taken == place(address))
    });
    other.map(|other| other.name().clone())
}

/// One place has two spellings: `127.0.0.1` and `::ffff:127.0.0.1`.
fn place(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}
