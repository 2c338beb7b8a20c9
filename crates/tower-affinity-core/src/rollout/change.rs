//! Changes of a rollout: each takes a snapshot and gives the next one, or refuses.
//!
//! A change that would alter nothing gives the same snapshot under the same revision. Under a lock
//! each of them is refused.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{FORMER_STABLE, Refusal, Rollout};
use crate::{Group, GroupId, GroupName, Revision, State, Timestamp, Weight};

/// When a change happens and what it may count on.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The revision of the new state; must be greater than the present one.
    pub revision: Revision,
    /// The time of the change.
    pub now: Timestamp,
    /// The greatest age of a session, which bounds how long old ids are remembered.
    pub max_age: Duration,
}

impl Rollout {
    /// Registers a group as staged, or as active if it has weight; a retired name comes back under
    /// the next generation.
    ///
    /// # Errors
    ///
    /// If the name belongs to a group that is not retired.
    pub fn register(
        &self,
        name: &GroupName,
        weight: Weight,
        change: Change,
    ) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let mut next = self.next(change);
        match self.group(name) {
            None => next.groups.push(Group {
                id: GroupId::new(name.clone(), 1),
                state: State::Staged,
                weight: Weight::ZERO,
                compatible_with: Vec::new(),
            }),
            Some(group) if matches!(group.state, State::Retired { .. }) => {
                next.bring_back(group, change);
            }
            Some(group) => {
                return Err(Refusal::Registered {
                    group: name.clone(),
                    state: group.state.name(),
                });
            }
        }
        if !weight.is_zero() {
            next.set_weight(name, weight);
            next.stepped(change, true);
        }
        Ok(next)
    }

    /// Gives the named groups new weights; the others keep theirs. A weight makes a staged or
    /// draining group active; weight 0 changes no state.
    ///
    /// # Errors
    ///
    /// If a group is unknown, aborted or retired, or if all weights would be 0.
    pub fn weights(
        &self,
        weights: &BTreeMap<GroupName, Weight>,
        change: Change,
    ) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let mut next = self.next(change);
        for (name, weight) in weights {
            let group = self.require(name)?;
            let serves = matches!(
                group.state,
                State::Staged | State::Active | State::Draining { .. }
            );
            if !serves {
                return Err(group.refuse("a weight", "staged, active or draining"));
            }
            next.set_weight(name, *weight);
        }
        if next.groups.iter().all(|group| group.weight.is_zero()) {
            return Err(Refusal::NoWeight);
        }
        Ok(self.stepped_if_changed(next, change, true))
    }

    /// Makes a group active and stable with all the weight; every other active group drains.
    ///
    /// # Errors
    ///
    /// If the group is unknown, aborted or retired.
    pub fn promote(&self, name: &GroupName, change: Change) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let group = self.require(name)?;
        if !matches!(
            group.state,
            State::Staged | State::Active | State::Draining { .. }
        ) {
            return Err(group.refuse("promote", "staged, active or draining"));
        }
        let mut next = self.next(change);
        let all = self
            .groups
            .iter()
            .fold(Weight::ZERO, |sum, g| sum.saturating_add(g.weight));
        for group in &mut next.groups {
            if group.name() == name {
                group.state = State::Active;
                group.weight = all;
            } else if matches!(group.state, State::Active) {
                group.state = State::Draining { since: change.now };
                group.weight = Weight::ZERO;
            }
        }
        next.make_stable(name);
        Ok(self.stepped_if_changed(next, change, false))
    }

    /// Makes a staged or draining group active without giving it weight.
    ///
    /// # Errors
    ///
    /// If the group is unknown, aborted or retired.
    pub fn activate(&self, name: &GroupName, change: Change) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let group = self.require(name)?;
        match group.state {
            State::Active => return Ok(self.clone()),
            State::Staged | State::Draining { .. } => {}
            _ => return Err(group.refuse("activation", "staged or draining")),
        }
        let mut next = self.next(change);
        if let Some(group) = next.groups.iter_mut().find(|group| group.name() == name) {
            group.state = State::Active;
        }
        Ok(next)
    }

    /// Makes a group active and stable without touching any weight; nothing drains.
    ///
    /// # Errors
    ///
    /// If the group is unknown, aborted or retired.
    pub fn stabilise(&self, name: &GroupName, change: Change) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let active = self.activate(name, change)?;
        if active.stable == *name {
            return Ok(active);
        }
        let mut next = active.next(change);
        next.make_stable(name);
        Ok(next)
    }

    /// Ends new sessions for an active group; its weight goes to the stable group.
    ///
    /// # Errors
    ///
    /// If the group is the stable one, or neither active nor draining already.
    pub fn drain(&self, name: &GroupName, change: Change) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let group = self.require(name)?;
        match group.state {
            State::Draining { .. } => return Ok(self.clone()),
            State::Active if *name == self.stable => return Err(Refusal::Stable(name.clone())),
            State::Active => {}
            _ => return Err(group.refuse("drain", "active")),
        }
        let freed = group.weight;
        let mut next = self.next(change);
        for group in &mut next.groups {
            if group.name() == name {
                group.state = State::Draining { since: change.now };
                group.weight = Weight::ZERO;
            } else if group.name() == &self.stable {
                group.weight = group.weight.saturating_add(freed);
            }
        }
        next.stepped(change, false);
        Ok(next)
    }

    /// Brings an aborted or retired group back as staged, under the next generation: its old
    /// sessions do not come back.
    ///
    /// # Errors
    ///
    /// If the group is unknown, or neither aborted nor retired.
    pub fn restore(&self, name: &GroupName, change: Change) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let group = self.require(name)?;
        if !matches!(group.state, State::Aborted(_) | State::Retired { .. }) {
            return Err(group.refuse("restore", "aborted or retired"));
        }
        let mut next = self.next(change);
        next.bring_back(group, change);
        Ok(next)
    }

    /// Declares a group's endpoints gone. A draining group must be drained, unless `force`.
    ///
    /// `drained_after` is what [`Rollout::drained_after`] answers for the group.
    ///
    /// # Errors
    ///
    /// If the group is unknown or active, or draining and not drained.
    pub fn retire(
        &self,
        name: &GroupName,
        drained_after: Option<Timestamp>,
        force: bool,
        change: Change,
    ) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let group = self.require(name)?;
        match &group.state {
            State::Retired { .. } => return Ok(self.clone()),
            State::Active => return Err(group.refuse("retire", "staged, drained or aborted")),
            State::Draining { .. } => {
                if let Some(by) = drained_after
                    && change.now <= by
                    && !force
                {
                    return Err(Refusal::NotDrained {
                        group: name.clone(),
                        by,
                    });
                }
            }
            State::Staged | State::Aborted(_) => {}
        }
        let mut next = self.next(change);
        if let State::Aborted(_) = group.state {
            next.bury(group, change);
        }
        if let Some(group) = next.groups.iter_mut().find(|group| group.name() == name) {
            group.state = State::Retired { at: change.now };
        }
        Ok(next)
    }

    pub(super) fn require(&self, name: &GroupName) -> Result<&Group, Refusal> {
        self.group(name).ok_or_else(|| Refusal::Unknown {
            group: name.clone(),
            known: self
                .groups
                .iter()
                .map(|group| group.name().clone())
                .collect(),
        })
    }

    pub(super) fn make_stable(&mut self, name: &GroupName) {
        if self.stable == *name {
            return;
        }
        let before = std::mem::replace(&mut self.stable, name.clone());
        self.former
            .retain(|former| *former != before && former != name);
        self.former.push(before);
        let excess = self.former.len().saturating_sub(FORMER_STABLE);
        self.former.drain(..excess);
    }

    pub(crate) fn stepped(&mut self, change: Change, drawn: bool) {
        self.step_revision = change.revision;
        if drawn {
            self.draw_revision = change.revision;
        }
    }

    fn stepped_if_changed(&self, mut next: Self, change: Change, drawn: bool) -> Self {
        let same = self.stable == next.stable
            && self.groups.iter().all(|group| {
                // a group that is only forgotten by now is no change that anybody asked for
                next.group(group.name()).is_none_or(|now| now == group)
            });
        if same {
            return self.clone();
        }
        next.stepped(change, drawn);
        next
    }

    fn set_weight(&mut self, name: &GroupName, weight: Weight) {
        if let Some(group) = self.groups.iter_mut().find(|group| group.name() == name) {
            if !weight.is_zero() {
                group.state = State::Active;
            }
            group.weight = weight;
        }
    }
}

impl Group {
    fn refuse(&self, verb: &'static str, needs: &'static str) -> Refusal {
        Refusal::State {
            group: self.name().clone(),
            state: self.state.name(),
            verb,
            needs,
        }
    }
}
