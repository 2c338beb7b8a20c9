//! A rollout and a change of it as one line of text.

use crate::fixtures::{after, at, name, rollout, weights};
use crate::{Change, NewGroup, Refusal, Revision, Rollout, Weight};

/// The groups in the order of their names, the stable one with a star: `A* active 90, B staged 0`.
pub(super) fn shape(rollout: &Rollout) -> String {
    let mut groups: Vec<String> = rollout
        .groups()
        .iter()
        .map(|group| {
            let star = if group.name() == rollout.stable() {
                "*"
            } else {
                ""
            };
            let generation = match group.id().generation() {
                1 => String::new(),
                n => format!("#{n}"),
            };
            let (name, state) = (group.name(), group.state().name());
            format!("{name}{generation}{star} {state} {}", group.weight())
        })
        .collect();
    groups.sort();
    groups.join(", ")
}

/// A* active 90, B active 10, C draining, D staged, E aborted to A, R retired; revision 10.
pub(super) fn town() -> Rollout {
    let groups = [
        crate::fixtures::active("A", 90).stable(),
        crate::fixtures::active("B", 10),
        NewGroup::draining(name("C")),
        NewGroup::staged(name("D")),
        NewGroup::aborted(name("E"), name("A")),
        NewGroup::retired(name("R")),
    ];
    Rollout::new(Revision(10), at(0), groups).unwrap()
}

/// What a verb made of `before`: the new shape and which of the three revisions are new.
pub(super) fn told(before: &Rollout, result: Result<Rollout, Refusal>) -> String {
    match result {
        Err(refusal) => format!("refused: {refusal}"),
        Ok(next) if next == *before => "unchanged".to_owned(),
        Ok(next) => {
            assert_eq!(
                next.revision(),
                before.revision().next(),
                "the revision is the next one"
            );
            let step = if next.step_revision() == next.revision() {
                " step"
            } else {
                ""
            };
            let draw = if next.draw_revision() == next.revision() {
                " draw"
            } else {
                ""
            };
            format!("{}{step}{draw}", shape(&next))
        }
    }
}

pub(super) fn first(rollout: &Rollout) -> Change {
    after(rollout, at(60))
}

pub(super) fn register(rollout: &Rollout, group: &str, share: u64) -> Result<Rollout, Refusal> {
    let share = Weight::new(share).unwrap();
    rollout.register(&name(group), share, first(rollout))
}

pub(super) fn weigh(rollout: &Rollout, shares: &[(&str, u64)]) -> Result<Rollout, Refusal> {
    rollout.weights(&weights(shares), first(rollout))
}

pub(super) fn promote(rollout: &Rollout, group: &str) -> Result<Rollout, Refusal> {
    rollout.promote(&name(group), first(rollout))
}

pub(super) fn drain(rollout: &Rollout, group: &str) -> Result<Rollout, Refusal> {
    rollout.drain(&name(group), first(rollout))
}

pub(super) fn restore(rollout: &Rollout, group: &str) -> Result<Rollout, Refusal> {
    rollout.restore(&name(group), first(rollout))
}

#[test]
fn a_shape_is_readable() {
    assert_eq!(
        shape(&rollout(&[("A", 1), ("B", 0)])),
        "A* active 1, B active 0"
    );
}
