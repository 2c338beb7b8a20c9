//! What a change would do, before it is made.

use tower_affinity::core::{Abort, AbortPolicy, Group, Lifetimes, Rollout, State, Timestamp};

use super::show::{aligned, drained_by, share};

const COLUMNS: [&str; 5] = ["GROUP", "STATE", "WEIGHT", "SHARE", "NOTES"];

/// A row for each group with what was and what would be, then a line for what happens to sessions.
///
/// How many sessions there are, and how many more a group can take, only the processes know.
pub(super) fn told(before: Option<&Rollout>, after: &Rollout, now: Timestamp) -> String {
    let Some(before) = before else {
        return format!("preview: {}", super::show::table(after, now));
    };
    let revision = before.revision().0;
    if before == after {
        return format!("preview at revision {revision}: nothing to change");
    }
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(after.groups().iter().map(|group| row(before, after, group)));
    let lines: Vec<_> = after
        .groups()
        .iter()
        .filter_map(|group| fate(before, after, group, now))
        .collect();
    let parts = [
        format!("preview at revision {revision}: nothing is changed"),
        aligned(&rows),
        aligned(&lines),
        "to do it, repeat it without --preview".to_owned(),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

fn row(before: &Rollout, after: &Rollout, group: &Group) -> [String; 5] {
    let old = before.group(group.name());
    let cell = |of: &dyn Fn(&Rollout, &Group) -> String| {
        let was = old.map_or_else(|| "-".to_owned(), |old| of(before, old));
        let is = of(after, group);
        match was == is {
            true => is,
            false => format!("{was} -> {is}"),
        }
    };
    [
        group.name().to_string(),
        cell(&|_, group| group.state().name().to_owned()),
        cell(&|_, group| group.weight().to_string()),
        cell(&share),
        notes(before, after, group),
    ]
}

fn notes(before: &Rollout, after: &Rollout, group: &Group) -> String {
    let name = group.name();
    let stable = match (before.stable() == name, after.stable() == name) {
        (true, true) => Some("stable".to_owned()),
        (false, true) => Some("becomes stable".to_owned()),
        (true, false) => Some("stable no more".to_owned()),
        (false, false) => None,
    };
    let is_new = before.group(name).is_some_and(|old| old.id() != group.id());
    let generation = is_new.then(|| format!("generation {}", group.id().generation()));
    let notes = stable.into_iter().chain(generation);
    notes.collect::<Vec<_>>().join(", ")
}

/// A word for what happens to the sessions of a group whose state changes, and the words.
fn fate(before: &Rollout, after: &Rollout, group: &Group, now: Timestamp) -> Option<[String; 2]> {
    let old = before.group(group.name())?;
    if old.state() == group.state() {
        return None;
    }
    let name = group.name();
    let (what, words) = match (old.state(), group.state()) {
        (_, State::Aborted(abort)) => leaving(after, group, abort, now),
        (State::Draining { .. }, State::Draining { .. }) => return None,
        (_, State::Draining { .. }) => {
            let by = drained_by(after, group)?;
            (
                "drains",
                format!("{name}: its sessions stay, the last one until {by}"),
            )
        }
        (State::Staged | State::Draining { .. }, State::Retired { .. }) => (
            "left",
            format!("sessions of {name} that are left move by weight, with their next request"),
        ),
        _ => return None,
    };
    Some([what.to_owned(), words])
}

fn leaving(
    after: &Rollout,
    group: &Group,
    abort: &Abort,
    now: Timestamp,
) -> (&'static str, String) {
    let (name, to) = (group.name(), after.destination(abort));
    let to = to.name();
    let idle = Lifetimes::default().idle();
    let next = |from: Timestamp| {
        let by = from.plus(idle);
        format!("each with its next request, all by {by}")
    };
    match abort.policy {
        AbortPolicy::Move => ("move", format!("sessions of {name} to {to}, {}", next(now))),
        AbortPolicy::Stay { until } => (
            "stay",
            format!(
                "sessions of {name} until {until}, then to {to}, {}",
                next(until)
            ),
        ),
        AbortPolicy::End => ("end", format!("sessions of {name}, {}", next(now))),
    }
}
