//! What is told of a change that is only looked at.

use serde::Deserialize;

use super::show;
use crate::output::{aligned, instant, printable};

/// The answer to a preview. Times are seconds since the Unix epoch.
#[derive(Debug, Deserialize)]
pub(super) struct Preview {
    verb: String,
    revision: u64,
    changed: bool,
    locked: bool,
    groups: Vec<Group>,
    redrawn: Vec<String>,
}

/// One group before and after.
#[derive(Debug, Deserialize)]
struct Group {
    name: String,
    before: Option<Side>,
    after: Option<Side>,
    live_sessions: u64,
    in_flight: u64,
    max_in_flight: Option<u64>,
    free: Option<u64>,
    last_expiry: Option<u64>,
    drained_by: Option<u64>,
    leaving: Option<Leaving>,
}

#[derive(Debug, Deserialize)]
struct Side {
    generation: u64,
    state: String,
    weight: u64,
    stable: bool,
}

#[derive(Debug, Deserialize)]
struct Leaving {
    how: String,
    to: Vec<String>,
    until: Option<u64>,
    by: u64,
    cut_by: Option<u64>,
    #[serde(default)]
    strict: Vec<String>,
}

const COLUMNS: [&str; 7] = [
    "GROUP",
    "STATE",
    "WEIGHT",
    "SHARE",
    "SESSIONS",
    "IN-FLIGHT",
    "NOTES",
];

/// A row for each group, then a line for everything that happens to sessions.
pub(super) fn told(preview: &Preview) -> String {
    let Preview {
        verb,
        revision,
        changed,
        locked,
        groups,
        redrawn,
    } = preview;
    if !changed {
        return format!("preview of {verb} at revision {revision}: nothing to change");
    }
    let (before, after) = (total(groups, before), total(groups, after));
    let mut table = vec![COLUMNS.map(str::to_owned)];
    table.extend(groups.iter().map(|group| group.row(before, after)));
    let mut lines: Vec<_> = groups.iter().flat_map(|group| group.lines(verb)).collect();
    lines.extend(room(groups));
    if !redrawn.is_empty() {
        let paths = redrawn.join(", ");
        lines.push(("draws", format!("each session in scope {paths} anew, once")));
    }
    if *locked {
        lines.push((
            "locked",
            "only an abort is accepted until unlock".to_owned(),
        ));
    }
    let lines = lines.into_iter();
    let lines: Vec<_> = lines
        .map(|(what, text)| [what.to_owned(), printable(&text)])
        .collect();
    // an abort is made whatever the revision is
    let condition = match verb.as_str() {
        "abort" => String::new(),
        _ => format!(" and with --if-match {revision}"),
    };
    let parts = [
        format!("preview of {verb} at revision {revision}: nothing is changed"),
        aligned(&table),
        aligned(&lines),
        format!("to do it, repeat it without --preview{condition}"),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn before(group: &Group) -> Option<&Side> {
    group.before.as_ref()
}

fn after(group: &Group) -> Option<&Side> {
    group.after.as_ref()
}

/// The sum of all weights on one side.
fn total(groups: &[Group], side: fn(&Group) -> Option<&Side>) -> u64 {
    groups.iter().filter_map(side).map(|side| side.weight).sum()
}

/// What the groups that take sessions have room for.
fn room(groups: &[Group]) -> impl Iterator<Item = (&'static str, String)> {
    let takes = |name: &str| {
        let mut leaving = groups.iter().filter_map(|group| group.leaving.as_ref());
        leaving.any(|leaving| leaving.to.iter().any(|to| to == name))
    };
    let targets = groups.iter().filter(move |group| takes(&group.name));
    targets.map(|target| {
        let (name, used) = (&target.name, target.in_flight);
        let room = match (target.free, target.max_in_flight) {
            (Some(free), Some(limit)) => {
                format!(
                    "{name} can take {free} more requests at a time ({used} of {limit} in flight)"
                )
            }
            _ => format!("{name}: unknown, it has no max_in_flight ({used} in flight)"),
        };
        ("room", room)
    })
}

impl Group {
    fn row(&self, before: u64, after: u64) -> [String; 7] {
        let state = |side: &Side| printable(&side.state);
        let weight = |side: &Side| side.weight.to_string();
        let share = |side: &Side, total| show::share(side.state == "active", side.weight, total);
        [
            printable(&self.name),
            self.change(state, state),
            self.change(weight, weight),
            self.change(|side| share(side, before), |side| share(side, after)),
            about(self.live_sessions),
            self.in_flight.to_string(),
            self.notes(),
        ]
    }

    /// One value if it stays the same, else the old and the new one.
    fn change(&self, old: impl Fn(&Side) -> String, new: impl Fn(&Side) -> String) -> String {
        let text = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
        let (old, new) = (
            text(self.before.as_ref().map(old)),
            text(self.after.as_ref().map(new)),
        );
        if old == new {
            return new;
        }
        format!("{old} -> {new}")
    }

    fn notes(&self) -> String {
        let is_stable = |side: &Option<Side>| side.as_ref().is_some_and(|side| side.stable);
        let stable = match (is_stable(&self.before), is_stable(&self.after)) {
            (true, true) => Some("stable"),
            (false, true) => Some("becomes stable"),
            (true, false) => Some("stable no more"),
            (false, false) => None,
        };
        let generation = match (&self.before, &self.after) {
            (Some(old), Some(new)) if old.generation != new.generation => {
                Some(format!("generation {}", new.generation))
            }
            _ => None,
        };
        let notes = stable.map(str::to_owned).into_iter().chain(generation);
        notes.collect::<Vec<_>>().join(", ")
    }

    /// What happens to its sessions, and to what is open.
    fn lines(&self, verb: &str) -> Vec<(&'static str, String)> {
        let (name, sessions) = (&self.name, about(self.live_sessions));
        let mut lines = Vec::new();
        if let Some(leaving) = &self.leaving {
            let (what, fate) = leaving.fate();
            lines.push((what, format!("{sessions} sessions of {name} {fate}")));
            if let Some(last) = self.last_expiry.filter(|last| *last > leaving.by) {
                let last = instant(last);
                lines.push((
                    "late",
                    format!("pins of streams to {name}, or from before a start, live to {last}"),
                ));
            }
            if let Some(by) = leaving.cut_by {
                let (open, by) = (self.in_flight, instant(by));
                lines.push(("cuts", format!("{open} in flight of {name}, ended by {by}")));
            }
        }
        let is_draining = |side: &Option<Side>| {
            let side = side.as_ref();
            side.is_some_and(|side| side.state == "draining")
        };
        if let (true, false, Some(by)) = (
            is_draining(&self.after),
            is_draining(&self.before),
            self.drained_by,
        ) {
            let by = instant(by);
            lines.push((
                "drains",
                format!("{name}: {sessions} sessions stay, the last one until {by}"),
            ));
        }
        let retires = |side: &Option<Side>| side.as_ref().is_some_and(|s| s.state == "retired");
        if verb == "retire" && retires(&self.after) && !retires(&self.before) {
            let mut left = format!("{name}: {} in flight", self.in_flight);
            if let Some(last) = self.last_expiry {
                left.push_str(&format!(", the last pin ends {}", instant(last)));
            }
            lines.push(("left", left));
        }
        lines
    }
}

impl Leaving {
    /// A word for it, and the rest of a sentence about sessions.
    fn fate(&self) -> (&'static str, String) {
        let (to, by) = (self.to.join(" or "), instant(self.by));
        let next = format!("each with its next request, all by {by}");
        match (self.how.as_str(), self.until) {
            ("stay", Some(until)) => {
                let until = instant(until);
                ("stay", format!("until {until}, then to {to}, {next}"))
            }
            ("end", _) => ("end", next),
            ("draw", _) if !self.strict.is_empty() => {
                let strict = self.strict.join(", ");
                (
                    "move",
                    format!("to {to} by weight, but end in scope {strict}, {next}"),
                )
            }
            ("draw", _) => ("move", format!("to {to} by weight, {next}")),
            _ => ("move", format!("to {to}, {next}")),
        }
    }
}

/// A count of sessions is right to 5 %.
fn about(sessions: u64) -> String {
    format!("≈{sessions}")
}
