//! The rules across groups: unique names, a valid rollout, each endpoint in one group only.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use tower_affinity::core::GroupName;

use super::group::{Block, ENDPOINT, GroupState};
use super::listen::{Listen, overlap};
use super::section::Section;

/// Refuses what breaks a rule, at the group that breaks it.
pub(super) fn check(root: &Section<'_>, blocks: &[Block<'_>], listen: &Listen) {
    check_names(blocks);
    check_rollout(root, blocks);
    check_endpoints(blocks, listen);
}

fn check_names(blocks: &[Block<'_>]) {
    let mut seen: HashMap<&GroupName, usize> = HashMap::new();
    for (at, block) in blocks.iter().enumerate() {
        if let Some(first) = seen.insert(&block.group.name, at) {
            block.section.refuse(
                "name",
                format!("is the name of group[{first}] too; accepted: unique names"),
            );
        }
    }
}

/// The rules of a valid rollout, each told at the group that breaks it.
fn check_rollout(root: &Section<'_>, blocks: &[Block<'_>]) {
    let mut stable: Option<&Block<'_>> = None;
    for block in blocks {
        let active = block.group.state == GroupState::Active;
        if block.group.stable {
            if let Some(other) = stable {
                let message = format!(
                    "group \"{}\" is stable already; accepted: exactly one",
                    other.group.name
                );
                block.section.refuse("stable", message);
            } else if !active {
                block.section.refuse(
                    "state",
                    "is not accepted for the stable group; accepted: \"active\"",
                );
            }
            stable = Some(block);
        }
        if !active && !block.group.weight.is_zero() {
            let message = format!(
                "a group that is {} has no weight; accepted: 0",
                block.group.state.word()
            );
            block.section.refuse("weight", message);
        }
        if let GroupState::Aborted { to } = &block.group.state {
            let target = blocks.iter().find(|other| other.group.name == *to);
            if !target.is_some_and(|target| target.group.state == GroupState::Active) {
                block.section.refuse(
                    "abort_to",
                    "is not an active group of this file; accepted: the name of one",
                );
            }
        }
    }
    if stable.is_none() {
        root.refuse_whole(
            "group",
            "no group is stable; accepted: stable = true in exactly one [[group]]",
        );
    }
    if blocks.iter().all(|block| block.group.weight.is_zero()) {
        root.refuse_whole(
            "group",
            "the weights of all groups are 0; accepted: a weight above 0 in at least one active group");
    }
}

fn check_endpoints(blocks: &[Block<'_>], listen: &Listen) {
    let mut seen: HashMap<(IpAddr, u16), &GroupName> = HashMap::new();
    for block in blocks {
        let gone = matches!(
            block.group.state,
            GroupState::Aborted { .. } | GroupState::Retired
        );
        if block.endpoints.is_empty() && block.group.discovery.is_none() && !gone {
            block.section.refuse(
                "endpoints",
                format!(
                    "is empty; accepted: at least one of {ENDPOINT}, \
                     or dns or endpoints_file in its place"
                ),
            );
        }
        for (field, address) in &block.endpoints {
            // one place has two spellings: 127.0.0.1 and ::ffff:127.0.0.1
            let place = (address.ip().to_canonical(), address.port());
            if let Some(other) = seen.insert(place, &block.group.name) {
                field.refuse(format!(
                    "is an endpoint of group \"{other}\" already; accepted: each address once"
                ));
            }
            for (key, own) in [
                ("listen.address", listen.address),
                ("listen.admin", listen.admin),
            ] {
                if is_own(own, *address) {
                    field.refuse(format!(
                        "is the gateway itself ({key}); accepted: the address of an endpoint"
                    ));
                }
            }
        }
    }
}

/// Whether a request to `endpoint` would come back to the listener `own`.
pub(crate) fn is_own(own: SocketAddr, endpoint: SocketAddr) -> bool {
    let everywhere = own.ip().to_canonical().is_unspecified();
    overlap(own, endpoint) && (!everywhere || endpoint.ip().to_canonical().is_loopback())
}
