//! The table of `gateway rollout show`.

use super::view::{GroupView, RolloutView};
use crate::output::{aligned, printable};

const COLUMNS: [&str; 7] = [
    "GROUP",
    "STATE",
    "WEIGHT",
    "SHARE",
    "ENDPOINTS",
    "IN-FLIGHT",
    "NOTES",
];

/// The revision, and a row for each group.
pub(super) fn table(rollout: &RolloutView) -> String {
    let total = rollout.total();
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(rollout.groups.iter().map(|group| row(group, total)));
    let lock = rollout.lock_note();
    let notes = rollout.here_only();
    let notes = notes.map(|notes| format!("{notes}\n")).unwrap_or_default();
    format!(
        "{notes}revision {}{lock}\n{}",
        rollout.revision,
        aligned(&rows)
    )
}

fn row(group: &GroupView, total: u64) -> [String; 7] {
    [
        printable(&group.name),
        printable(&group.state),
        group.weight.to_string(),
        share(group.is_active(), group.weight, total),
        format!("{}/{}", group.ready(), group.endpoints.len()),
        group.in_flight.to_string(),
        printable(&group.notes()),
    ]
}

/// How many of new sessions a group gets, by weight alone.
pub(super) fn share(is_active: bool, weight: u64, total: u64) -> String {
    if !is_active || total == 0 {
        return "-".to_owned();
    }
    let tenths = (weight * 1_000 + total / 2) / total;
    match (tenths / 10, tenths % 10) {
        (0, 0) if weight > 0 => "<0.1%".to_owned(),
        (100, 0) if weight < total => ">99.9%".to_owned(),
        (whole, 0) => format!("{whole}%"),
        (whole, tenth) => format!("{whole}.{tenth}%"),
    }
}
