//! What is told after a change.

use tower_affinity::core::GroupName;

use super::view::{Accepted, GroupView};
use crate::output::printable;

/// The revisions, the weights that new sessions are drawn by, and the group that was named.
pub(super) fn changed(named: Option<&GroupName>, accepted: &Accepted) -> String {
    let Accepted {
        before,
        revision,
        changed,
        rollout,
    } = accepted;
    let lock = rollout.lock_note();
    let mut lines = vec![match (before == revision, changed) {
        (false, _) => format!("revision {before} -> {revision}{lock}"),
        // what only one replica knows has no number
        (true, true) => format!("revision {revision} stays{lock}"),
        (true, false) => format!("revision {revision}: nothing to change{lock}"),
    }];
    let active = rollout.groups.iter().filter(|group| group.is_active());
    let weights: Vec<_> = active
        .map(|group| format!("{}={}", group.name, group.weight))
        .collect();
    lines.push(printable(&format!("weights {}", weights.join(" "))));
    let named = rollout
        .groups
        .iter()
        .filter(|group| named.is_some_and(|named| group.name == named.as_str()));
    lines.extend(named.map(|group| printable(&line(group))));
    lines.join("\n")
}

fn line(group: &GroupView) -> String {
    let notes = group.notes();
    let separator = if notes.is_empty() { "" } else { ", " };
    format!("{} is {}{separator}{notes}", group.name, group.state)
}
