//! What people read of a rollout: a table, and what a change has made.

use tower_affinity::core::{
    Abort, AbortPolicy, Group, GroupName, Lifetimes, Rollout, State, Timestamp,
};

use super::verb::SKEW;

const COLUMNS: [&str; 5] = ["GROUP", "STATE", "WEIGHT", "SHARE", "NOTES"];

/// The revision, and a row for each group.
pub(super) fn table(rollout: &Rollout, now: Timestamp) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(rollout.groups().iter().map(|group| {
        [
            group.name().to_string(),
            group.state().name().to_owned(),
            group.weight().to_string(),
            share(rollout, group),
            notes(rollout, group, now),
        ]
    }));
    let lock = lock_note(rollout);
    format!(
        "revision {}{lock}\n{}",
        rollout.revision().0,
        aligned(&rows)
    )
}

/// The revisions, the weights that new sessions are drawn by, and the group that was named.
pub(super) fn changed(
    before: Option<&Rollout>,
    after: &Rollout,
    named: Option<&GroupName>,
    now: Timestamp,
) -> String {
    let (revision, lock) = (after.revision().0, lock_note(after));
    let first = match before.map(|before| before.revision().0) {
        None => format!("revision {revision}{lock}"),
        Some(before) if before == revision => {
            format!("revision {revision}: nothing to change{lock}")
        }
        Some(before) => format!("revision {before} -> {revision}{lock}"),
    };
    let active = after.groups().iter().filter(|group| is_active(group));
    let weights = active.map(|group| format!("{}={}", group.name(), group.weight()));
    let weights = format!("weights {}", weights.collect::<Vec<_>>().join(" "));
    let named = named.and_then(|named| after.group(named)).map(|group| {
        let notes = notes(after, group, now);
        let separator = if notes.is_empty() { "" } else { ", " };
        format!(
            "{} is {}{separator}{notes}",
            group.name(),
            group.state().name()
        )
    });
    let lines = [Some(first), Some(weights), named].into_iter().flatten();
    lines.collect::<Vec<_>>().join("\n")
}

/// How many of new sessions a group gets, by weight alone.
pub(super) fn share(rollout: &Rollout, group: &Group) -> String {
    let weights = rollout.groups().iter().map(|group| group.weight().get());
    let total: u64 = weights.map(u64::from).sum();
    if !is_active(group) || total == 0 {
        return "-".to_owned();
    }
    let weight = u64::from(group.weight().get());
    let tenths = (weight * 1_000 + total / 2) / total;
    match (tenths / 10, tenths % 10) {
        (0, 0) if weight > 0 => "<0.1%".to_owned(),
        (100, 0) if weight < total => ">99.9%".to_owned(),
        (whole, 0) => format!("{whole}%"),
        (whole, tenth) => format!("{whole}.{tenth}%"),
    }
}

/// What the columns do not say.
fn notes(rollout: &Rollout, group: &Group, now: Timestamp) -> String {
    let mut notes = Vec::new();
    if group.name() == rollout.stable() {
        notes.push("stable".to_owned());
    }
    if group.id().generation() > 1 {
        notes.push(format!("generation {}", group.id().generation()));
    }
    match group.state() {
        State::Draining { .. } => match drained_by(rollout, group) {
            Some(by) if now > by => notes.push("drained".to_owned()),
            by => notes.extend(by.map(|by| format!("until {by}"))),
        },
        State::Aborted(abort) => notes.push(abort_note(rollout, abort)),
        State::Retired { at } => notes.push(format!("since {at}")),
        State::Staged | State::Active => {}
    }
    notes.join(", ")
}

/// When no pin to a draining group can be valid any more.
pub(super) fn drained_by(rollout: &Rollout, group: &Group) -> Option<Timestamp> {
    rollout.drained_by(group.name(), Lifetimes::default().max_age(), SKEW)
}

/// Rows in columns as wide as their widest cell; no line ends in white space.
pub(super) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn is_active(group: &Group) -> bool {
    matches!(group.state(), State::Active)
}

/// What is said behind the revision of a locked rollout.
fn lock_note(rollout: &Rollout) -> &'static str {
    match rollout.is_locked() {
        true => ", locked: only an abort is accepted until unlock",
        false => "",
    }
}

fn abort_note(rollout: &Rollout, abort: &Abort) -> String {
    // the target may have been aborted since
    let to = rollout.destination(abort);
    let to = to.name();
    match abort.policy {
        AbortPolicy::Move => format!("to {to} (move)"),
        AbortPolicy::Stay { until } => format!("to {to} (stay until {until})"),
        AbortPolicy::End => "sessions end".to_owned(),
    }
}
