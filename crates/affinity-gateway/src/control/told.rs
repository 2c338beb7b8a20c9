//! Changes in words, for the events.

use tower_affinity::core::{AbortPolicy, Group, GroupName, Rollout, State};

use super::{Control, Request, Verb};
use crate::events::Kind;

impl Control {
    /// Tells of a change that was made; of one that altered nothing there is nothing to tell.
    pub(super) fn tell(&self, request: &Request, before: &Rollout, after: &Rollout) {
        if before == after {
            return;
        }
        let Request { who, verb, .. } = request;
        let (name, revision) = (verb.name(), after.revision().0);
        let what = difference(before, after);
        let text = format!("{name} by {who}, revision {revision}: {what}");
        self.events().keep(Kind::Rollout, verb.group(), &text);
    }
}

/// What is another now, group by group.
pub(super) fn difference(before: &Rollout, after: &Rollout) -> String {
    let mut text = String::new();
    let gone = before.groups().iter();
    let gone = gone.filter(|group| after.group(group.name()).is_none());
    for group in after.groups().iter().chain(gone) {
        let name = group.name();
        let [was, is] = [before, after].map(|rollout| side(rollout, name));
        if was != is {
            add(&mut text, &format!("{name} {was} → {is}"));
        }
        if let Some(with) = declared(before, after, name) {
            add(&mut text, &format!("{name} compatible with {with}"));
        }
    }
    match (before.is_locked(), after.is_locked()) {
        (false, true) => add(&mut text, "locked"),
        (true, false) => add(&mut text, "unlocked"),
        _ if text.is_empty() => "no group is another than before".clone_into(&mut text),
        _ => {}
    }
    text
}

fn add(text: &mut String, part: &str) {
    if !text.is_empty() {
        text.push_str(", ");
    }
    text.push_str(part);
}

/// A group in two or three words: `stable active 90`.
fn side(rollout: &Rollout, name: &GroupName) -> String {
    let Some(group) = rollout.group(name) else {
        return "absent".to_owned();
    };
    let stable = if rollout.stable() == name {
        "stable "
    } else {
        ""
    };
    match group.state() {
        State::Aborted(abort) => {
            let (target, policy) = (abort.target.name(), policy(abort.policy));
            format!("{stable}aborted to {target} ({policy})")
        }
        state => format!("{stable}{} {}", state.name(), group.weight()),
    }
}

/// Whose sessions a group can serve, if that is another answer than before.
fn declared(before: &Rollout, after: &Rollout, name: &GroupName) -> Option<String> {
    let of = |rollout| Rollout::group(rollout, name).map(Group::compatible_with);
    let (was, is) = (of(before).unwrap_or_default(), of(after)?);
    let names: Vec<&str> = is.iter().map(GroupName::as_str).collect();
    match (was == is, names.is_empty()) {
        (true, _) => None,
        (false, true) => Some("no other".to_owned()),
        (false, false) => Some(names.join(", ")),
    }
}

/// What an abort does to sessions, as verbs name it.
pub(super) fn policy(policy: AbortPolicy) -> &'static str {
    match policy {
        AbortPolicy::Move => "move",
        AbortPolicy::Stay { .. } => "stay",
        AbortPolicy::End => "end",
    }
}

impl Verb {
    /// The group that it is about, if it is one.
    fn group(&self) -> Option<&GroupName> {
        match self {
            Self::Lock | Self::Unlock | Self::Weights(_) => None,
            Self::Register { group, .. }
            | Self::Promote(group)
            | Self::Drain(group)
            | Self::Abort { group, .. }
            | Self::Restore(group)
            | Self::Retire { group, .. } => Some(group),
        }
    }
}
