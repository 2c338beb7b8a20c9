//! What makes a rollout valid when it is made from nothing.

use crate::fixtures::{active, at, name, weight};
use crate::{InvalidWeight, NewGroup, Revision, Rollout, RolloutError, Weight};

fn make(groups: impl IntoIterator<Item = NewGroup>) -> Result<Rollout, RolloutError> {
    Rollout::new(Revision(1), at(0), groups)
}

#[test]
fn groups_that_break_a_rule_are_refused_with_it() {
    let a = || active("A", 1).stable();
    for (groups, message) in [
        (vec![], "a rollout needs at least one group"),
        (
            vec![active("A", 1)],
            "exactly one group is stable, but 0 are",
        ),
        (
            vec![a(), active("B", 1).stable()],
            "exactly one group is stable, but 2 are",
        ),
        (vec![a(), active("A", 2)], "group A is given twice"),
        (
            vec![active("A", 0).stable()],
            "the weights of all active groups are 0",
        ),
        (
            vec![active("A", 0).stable(), NewGroup::staged(name("B"))],
            "the weights of all active groups are 0",
        ),
        (
            vec![NewGroup::staged(name("A")).stable(), active("B", 1)],
            "the stable group A must be active",
        ),
        (
            vec![NewGroup::draining(name("A")).stable(), active("B", 1)],
            "the stable group A must be active",
        ),
        (
            vec![a(), NewGroup::aborted(name("B"), name("Z"))],
            "the target Z of the aborted group B is not an active group",
        ),
        (
            vec![a(), NewGroup::aborted(name("B"), name("B"))],
            "the target B of the aborted group B is not an active group",
        ),
        (
            vec![
                a(),
                NewGroup::staged(name("C")),
                NewGroup::aborted(name("B"), name("C")),
            ],
            "the target C of the aborted group B is not an active group",
        ),
    ] {
        assert_eq!(make(groups).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_new_rollout_counts_everything_from_its_revision() {
    let rollout = make([active("A", 1).stable(), active("B", 0)]).unwrap();
    let one = Revision(1);
    assert_eq!(
        (
            rollout.revision(),
            rollout.step_revision(),
            rollout.draw_revision()
        ),
        (one, one, one)
    );
    assert_eq!(rollout.stable(), &name("A"));
    assert!(rollout.former_stable().is_empty());
    assert!(
        rollout
            .groups()
            .iter()
            .all(|group| group.id().generation() == 1)
    );
}

#[test]
fn weights_are_integers_up_to_ten_thousand() {
    assert_eq!(weight(10_000), Weight::MAX);
    assert_eq!(weight(0), Weight::ZERO);
    for bad in [10_001, 65_536, 65_537, u64::MAX] {
        assert_eq!(Weight::new(bad), Err(InvalidWeight), "{bad}");
    }
}
