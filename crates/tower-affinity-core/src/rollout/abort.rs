//! Abort: one atomic, idempotent step that moves a group's sessions to a safe one.

use std::time::Duration;

use super::refusal::NOT_READY;
use super::{Change, Refusal, Rollout};
use crate::{Abort, AbortPolicy, Group, GroupId, GroupName, Readiness, Ready, State, Weight};

/// What an operator asks for with an abort.
#[derive(Clone, Debug, Default)]
pub struct AbortRequest {
    /// Where the sessions go; by default the stable group, or the latest former one that can.
    pub to: Option<GroupName>,
    /// What happens to the sessions; by default they move.
    pub policy: Option<AbortPolicy>,
    /// Skips only the check that the target has a ready endpoint.
    pub force: bool,
}

impl Rollout {
    /// Aborts a group. In the same revision the target becomes active, takes the group's weight on
    /// top of its own (at least 1), and is stable if the group was.
    ///
    /// Repeated on an aborted group it answers the same state; another policy replaces the old one
    /// under a new revision, the target never changes. The target's weight is cut at
    /// [`Weight::MAX`].
    ///
    /// # Errors
    ///
    /// If the group is unknown or retired, if no target can take its sessions, if it is aborted
    /// with another target than the one that is named, or if the deadline of `stay` is later than
    /// any session lives.
    pub fn abort(
        &self,
        name: &GroupName,
        request: &AbortRequest,
        ready: &dyn Readiness,
        change: Change,
    ) -> Result<Self, Refusal> {
        let group = self.require(name)?;
        let policy = request.policy.unwrap_or(AbortPolicy::Move);
        check_deadline(policy, change)?;
        match &group.state {
            State::Retired { .. } => {
                return Err(Refusal::State {
                    group: name.clone(),
                    state: group.state.name(),
                    verb: "abort",
                    needs: "staged, active or draining",
                });
            }
            State::Aborted(abort) => return self.abort_again(group, abort, request, change),
            State::Staged | State::Active | State::Draining { .. } => {}
        }
        let abort = Abort {
            target: self.abort_target(group, request, ready)?.id.clone(),
            policy,
            at: change.now,
        };
        let mut next = self.next(change);
        next.hand_over(&group.id, &abort);
        next.stepped(change, false);
        Ok(next)
    }

    /// Aborts a group that serves: the target becomes active, takes its weight, and is stable if
    /// it was.
    pub(crate) fn hand_over(&mut self, id: &GroupId, abort: &Abort) {
        let group = self.groups.iter().find(|group| group.id == *id);
        let weight = group.map_or(Weight::ZERO, |group| group.weight);
        let target = abort.target.clone();
        for group in &mut self.groups {
            if group.id == target {
                group.state = State::Active;
                group.weight = group.weight.saturating_add(weight).max(Weight::ONE);
            } else if group.id == *id {
                group.weight = Weight::ZERO;
                group.state = State::Aborted(abort.clone());
            }
        }
        if *id.name() == self.stable {
            self.make_stable(target.name());
        }
    }

    /// Where the sessions of `id` go if `wanted` cannot take them: the stable group, else the
    /// latest former one that can, ready or not.
    pub(crate) fn target_or_default(&self, id: &GroupId, wanted: &GroupId) -> Option<GroupId> {
        let can = |group: &&Group| group.id != *id && objection(group).is_none();
        let named = self.groups.iter().find(|group| group.id == *wanted);
        let defaults = std::iter::once(&self.stable).chain(self.former.iter().rev());
        let default = defaults.filter_map(|name| self.group(name));
        named
            .into_iter()
            .chain(default)
            .find(can)
            .map(|group| group.id.clone())
    }

    /// Staged, active and draining groups that could take the sessions of `name`.
    fn possible_targets(&self, name: &GroupName, ready: &dyn Readiness) -> Vec<GroupName> {
        let can = |group: &&Group| {
            group.name() != name && objection(group).is_none() && is_ready(group, ready)
        };
        self.groups
            .iter()
            .filter(can)
            .map(|group| group.name().clone())
            .collect()
    }

    fn abort_target<'a>(
        &'a self,
        group: &Group,
        request: &AbortRequest,
        ready: &dyn Readiness,
    ) -> Result<&'a Group, Refusal> {
        let name = group.name();
        let may = |target: &Group| {
            let why = if target.name() == name {
                Some("it is the group that is aborted")
            } else {
                objection(target)
            };
            why.or_else(|| (!request.force && !is_ready(target, ready)).then_some(NOT_READY))
        };
        let named = match &request.to {
            Some(to) => Some(self.require(to)?),
            None if *name != self.stable => self.group(&self.stable),
            None => None,
        };
        let not_possible = |target: &Group, why| Refusal::Target {
            group: name.clone(),
            target: target.name().clone(),
            why,
            possible: self.possible_targets(name, ready),
        };
        if let Some(target) = named {
            return may(target).map_or(Ok(target), |why| Err(not_possible(target, why)));
        }
        let mut refusal = None;
        for former in self.former.iter().rev().filter_map(|name| self.group(name)) {
            match may(former) {
                None => return Ok(former),
                // the latest one that could be forced is worth more to tell than that there is none
                Some(NOT_READY) if refusal.is_none() => {
                    refusal = Some(not_possible(former, NOT_READY));
                }
                Some(_) => {}
            }
        }
        Err(refusal.unwrap_or_else(|| Refusal::NoTarget {
            group: name.clone(),
            possible: self.possible_targets(name, ready),
        }))
    }

    fn abort_again(
        &self,
        group: &Group,
        abort: &Abort,
        request: &AbortRequest,
        change: Change,
    ) -> Result<Self, Refusal> {
        let target = abort.target.name();
        if request.to.as_ref().is_some_and(|to| to != target) {
            return Err(Refusal::TargetKept {
                group: group.name().clone(),
                target: target.clone(),
            });
        }
        Ok(match request.policy {
            Some(policy) if policy != abort.policy => {
                let mut next = self.next(change);
                if let Some(group) = next.groups.iter_mut().find(|other| other.id == group.id) {
                    group.state = State::Aborted(Abort {
                        policy,
                        ..abort.clone()
                    });
                }
                next
            }
            _ => self.clone(),
        })
    }
}

impl Weight {
    const ONE: Self = match Self::new(1) {
        Ok(one) => one,
        Err(_) => Self::MAX,
    };
}

fn objection(target: &Group) -> Option<&'static str> {
    match target.state {
        State::Active | State::Draining { .. } => None,
        State::Staged => Some("it is staged"),
        State::Aborted(_) => Some("it is aborted"),
        State::Retired { .. } => Some("it is retired"),
    }
}

fn is_ready(group: &Group, ready: &dyn Readiness) -> bool {
    ready.of(group.name()) == Ready::Yes
}

fn check_deadline(policy: AbortPolicy, change: Change) -> Result<(), Refusal> {
    if let AbortPolicy::Stay { until } = policy {
        let within: Duration = until.since(change.now);
        if within > change.max_age {
            return Err(Refusal::Deadline {
                within_secs: within.as_secs(),
                max_age_secs: change.max_age.as_secs(),
            });
        }
    }
    Ok(())
}
