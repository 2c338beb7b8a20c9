//! Wrong changes of the rollout: what is written into its document is what a wrong verb would do.

use tower_affinity_core::{Change, Readiness, Refusal, Rollout, Timestamp};
use tower_affinity_testing::sim::{Order, Parts, Real};

use super::Planted;

type Wrong = fn(before: &Rollout, after: Rollout, order: &Order) -> Rollout;

struct Changes(Wrong);

impl Parts for Changes {
    fn change(
        &self,
        rollout: &Rollout,
        order: &Order,
        ready: &dyn Readiness,
        drained_by: Option<Timestamp>,
        change: Change,
    ) -> Result<Rollout, Refusal> {
        let after = Real.change(rollout, order, ready, drained_by, change)?;
        Ok((self.0)(rollout, after, order))
    }
}

struct IgnoresLock;

impl Parts for IgnoresLock {
    fn change(
        &self,
        rollout: &Rollout,
        order: &Order,
        ready: &dyn Readiness,
        drained_by: Option<Timestamp>,
        change: Change,
    ) -> Result<Rollout, Refusal> {
        let open = match order {
            Order::Abort { .. } | Order::Lock(_) => rollout.clone(),
            _ => rollout.unlock(change),
        };
        Real.change(&open, order, ready, drained_by, change)
    }
}

struct LocksAborts;

impl Parts for LocksAborts {
    fn change(
        &self,
        rollout: &Rollout,
        order: &Order,
        ready: &dyn Readiness,
        drained_by: Option<Timestamp>,
        change: Change,
    ) -> Result<Rollout, Refusal> {
        if rollout.is_locked() && matches!(order, Order::Abort { .. }) {
            return Err(Refusal::Locked);
        }
        Real.change(rollout, order, ready, drained_by, change)
    }
}

struct TakesOlder;

impl Parts for TakesOlder {
    fn supersedes(&self, new: &Rollout, own: &Rollout) -> bool {
        new.revision() != own.revision()
    }
}

pub(super) fn all() -> Vec<Planted> {
    vec![
        (
            "an abort is forgotten by a restore",
            Box::new(Changes(forgets_aborts)),
            &["I2 abort", "I10 bounded state"],
        ),
        (
            "a repeated abort changes its target",
            Box::new(Changes(retargets)),
            &["I2 abort"],
        ),
        (
            "a restore brings the old generation back",
            Box::new(Changes(same_generation)),
            &["I2 abort"],
        ),
        ("a lock is ignored", Box::new(IgnoresLock), &["refusals"]),
        (
            "a lock holds back an abort",
            Box::new(LocksAborts),
            &["refusals"],
        ),
        (
            "an older state replaces a newer one",
            Box::new(TakesOlder),
            &["I4 revisions"],
        ),
    ]
}

fn forgets_aborts(_: &Rollout, after: Rollout, order: &Order) -> Rollout {
    if !matches!(order, Order::Restore(_)) {
        return after;
    }
    let mut document = after.to_document();
    document["tombstones"].as_array_mut().unwrap().clear();
    Rollout::from_document(&document).unwrap()
}

fn retargets(before: &Rollout, after: Rollout, order: &Order) -> Rollout {
    let Order::Abort { group, .. } = order else {
        return after;
    };
    let name = format!("g{group}");
    let was_aborted = before
        .groups()
        .iter()
        .any(|group| group.name().as_str() == name && group.state().name() == "aborted");
    if !was_aborted {
        return after;
    }
    let stable = after.stable_id();
    let mut document = after.to_document();
    for group in document["groups"].as_array_mut().unwrap() {
        if group["name"] == name {
            group["target"] = stable.name().as_str().into();
            group["target_generation"] = stable.generation().into();
        }
    }
    Rollout::from_document(&document).unwrap()
}

fn same_generation(_: &Rollout, after: Rollout, order: &Order) -> Rollout {
    let Order::Restore(group) = order else {
        return after;
    };
    let name = format!("g{group}");
    let mut document = after.to_document();
    for group in document["groups"].as_array_mut().unwrap() {
        if group["name"] == name {
            let generation = group["generation"].as_u64().unwrap();
            group["generation"] = (generation - 1).into();
        }
    }
    Rollout::from_document(&document).unwrap()
}
