//! The oracle's own idea of a rollout: which groups there are and what became of them.
//!
//! It shares no code with the rules that it checks: it is fed the same orders and has to come to
//! the same state.

use std::collections::BTreeMap;

use tower_affinity_core::{AbortPolicy, Rollout, State, Status, Timestamp};

use super::names::{GROUPS, Id, Millis, TA, id_of, ids_of, number_of};
use super::parts::Order;

const MEMORY: Millis = TA.as_millis() as Millis + 10 * 60 * 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Staged,
    Active,
    Draining,
    Aborted,
    Retired(Millis),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) generation: u32,
    pub(super) life: Life,
    pub(super) weight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abort {
    pub(super) target: Id,
    pub(super) policy: AbortPolicy,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) revision: u64,
    pub(super) groups: [Option<Group>; GROUPS],
    pub(super) stable: u8,
    former: Vec<u8>,
    /// Every abort that is remembered, and until when; `None` while the group is still there.
    pub(super) aborts: BTreeMap<Id, (Abort, Option<Millis>)>,
    /// Old generations, and until when they are remembered.
    buried: BTreeMap<Id, Millis>,
}

impl Model {
    pub(super) fn new(revision: u64, weights: &[u64]) -> Self {
        let mut groups = [None; GROUPS];
        for (group, weight) in groups.iter_mut().zip(weights) {
            *group = Some(Group {
                generation: 1,
                life: Life::Active,
                weight: *weight,
            });
        }
        Self {
            revision,
            groups,
            stable: 0,
            former: Vec::new(),
            aborts: BTreeMap::new(),
            buried: BTreeMap::new(),
        }
    }

    pub(super) fn group(&self, n: u8) -> Option<&Group> {
        self.groups[usize::from(n)].as_ref()
    }

    /// Whether a pin can name `id` here: it is there or it is remembered.
    pub(super) fn knows(&self, id: Id) -> bool {
        self.is_current(id) || self.buried.contains_key(&id)
    }

    pub(super) fn is_current(&self, (n, generation): Id) -> bool {
        self.group(n)
            .is_some_and(|group| group.generation == generation)
    }

    fn life(&self, n: u8) -> Option<Life> {
        self.group(n).map(|group| group.life)
    }

    /// The state after `order`; `None` if it is refused.
    pub(super) fn after(
        &self,
        order: &Order,
        revision: u64,
        now: Millis,
        ready: impl Fn(u8) -> bool,
        drained: bool,
    ) -> Option<Self> {
        let mut next = self.clone();
        next.forget(now);
        let before = next.clone();
        let mut always = false;
        let serves = |n: u8| {
            matches!(
                self.life(n),
                Some(Life::Staged | Life::Active | Life::Draining)
            )
        };
        match order {
            Order::Register(n, weight) => {
                match self.life(*n) {
                    None => next.put(*n, 1),
                    Some(Life::Retired(_)) => {
                        next.bring_back((*n, self.group(*n)?.generation), now)
                    }
                    Some(_) => return None,
                }
                next.weigh(*n, *weight);
                always = true;
            }
            Order::Weights(shares) => {
                for (n, weight) in shares {
                    if !serves(*n) {
                        return None;
                    }
                    next.weigh(*n, *weight);
                }
                if next.groups.iter().flatten().all(|group| group.weight == 0) {
                    return None;
                }
            }
            Order::Promote(n) => {
                if !serves(*n) {
                    return None;
                }
                let all: u64 = self.groups.iter().flatten().map(|group| group.weight).sum();
                for group in next.groups.iter_mut().flatten() {
                    if group.life == Life::Active {
                        (group.life, group.weight) = (Life::Draining, 0);
                    }
                }
                next.weigh(*n, all.min(10_000));
                next.make_stable(*n);
            }
            Order::Drain(n) => match self.life(*n) {
                Some(Life::Draining) => {}
                Some(Life::Active) if *n != self.stable => {
                    let freed = self.group(*n)?.weight;
                    next.set(*n, Life::Draining, 0);
                    next.add_weight(self.stable, freed, 0);
                }
                _ => return None,
            },
            Order::Abort {
                group,
                to,
                policy,
                force,
            } => {
                let policy = policy.map(|policy| policy.policy(Timestamp::from_millis(now)));
                match self.life(*group)? {
                    Life::Retired(_) => return None,
                    Life::Aborted => {
                        let id = (*group, self.group(*group)?.generation);
                        let abort = &mut next.aborts.get_mut(&id)?.0;
                        abort.policy = policy.unwrap_or(abort.policy);
                    }
                    _ => next.abort(*group, self.target(*group, *to, *force, ready)?, policy),
                }
            }
            Order::Restore(n) => {
                if !matches!(self.life(*n)?, Life::Aborted | Life::Retired(_)) {
                    return None;
                }
                next.bring_back((*n, self.group(*n)?.generation), now);
                always = true;
            }
            Order::Retire { group, force } => match self.life(*group)? {
                Life::Retired(_) => {}
                Life::Active => return None,
                Life::Draining if !force && !drained => return None,
                life => {
                    if life == Life::Aborted {
                        next.bury((*group, self.group(*group)?.generation), now);
                    }
                    next.set(*group, Life::Retired(now), 0);
                }
            },
        }
        let same = next.groups == before.groups
            && next.stable == before.stable
            && next.aborts == before.aborts;
        if same && !always {
            return Some(self.clone());
        }
        next.revision = revision;
        Some(next)
    }

    fn target(
        &self,
        group: u8,
        to: Option<u8>,
        force: bool,
        ready: impl Fn(u8) -> bool,
    ) -> Option<u8> {
        let can = |n: &u8| {
            *n != group
                && matches!(self.life(*n), Some(Life::Active | Life::Draining))
                && (force || ready(*n))
        };
        match to {
            Some(to) => Some(to).filter(can),
            None if group != self.stable => Some(self.stable).filter(can),
            None => self.former.iter().rev().copied().find(can),
        }
    }

    fn abort(&mut self, group: u8, target: u8, policy: Option<AbortPolicy>) {
        let (Some(from), Some(to)) = (self.group(group).copied(), self.group(target).copied())
        else {
            return;
        };
        self.set(group, Life::Aborted, 0);
        self.set(target, Life::Active, to.weight);
        self.add_weight(target, from.weight, 1);
        let abort = Abort {
            target: (target, to.generation),
            policy: policy.unwrap_or(AbortPolicy::Move),
        };
        self.aborts.insert((group, from.generation), (abort, None));
        if group == self.stable {
            self.make_stable(target);
        }
    }

    fn put(&mut self, n: u8, generation: u32) {
        self.groups[usize::from(n)] = Some(Group {
            generation,
            life: Life::Staged,
            weight: 0,
        });
    }

    fn set(&mut self, n: u8, life: Life, weight: u64) {
        if let Some(group) = &mut self.groups[usize::from(n)] {
            (group.life, group.weight) = (life, weight);
        }
    }

    fn weigh(&mut self, n: u8, weight: u64) {
        if let Some(group) = &mut self.groups[usize::from(n)] {
            group.weight = weight;
            if weight > 0 {
                group.life = Life::Active;
            }
        }
    }

    fn add_weight(&mut self, n: u8, more: u64, least: u64) {
        if let Some(group) = &mut self.groups[usize::from(n)] {
            group.weight = (group.weight + more).min(10_000).max(least);
        }
    }

    fn make_stable(&mut self, n: u8) {
        if n != self.stable {
            let before = std::mem::replace(&mut self.stable, n);
            self.former
                .retain(|former| *former != before && *former != n);
            self.former.push(before);
        }
    }

    fn bury(&mut self, id: Id, now: Millis) {
        self.buried.insert(id, now + MEMORY);
        if let Some((_, until)) = self.aborts.get_mut(&id) {
            until.get_or_insert(now + MEMORY);
        }
    }

    fn bring_back(&mut self, (n, generation): Id, now: Millis) {
        self.bury((n, generation), now);
        self.put(n, generation + 1);
    }

    fn forget(&mut self, now: Millis) {
        for group in &mut self.groups {
            if matches!(group, Some(Group { life: Life::Retired(at), .. }) if now >= *at + MEMORY) {
                *group = None;
            }
        }
        self.buried.retain(|_, until| now < *until);
        self.aborts
            .retain(|_, (_, until)| until.is_none_or(|until| now < until));
        let groups = &self.groups;
        self.former.retain(|n| groups[usize::from(*n)].is_some());
    }

    /// Where a session of an aborted group goes.
    pub(super) fn destination(&self, abort: Abort) -> Id {
        let mut target = abort.target;
        for _ in 0..=self.aborts.len() {
            if self.is_current(target) && self.life(target.0) == Some(Life::Active) {
                return target;
            }
            match self.aborts.get(&target) {
                Some((next, _)) => target = next.target,
                None => break,
            }
        }
        (
            self.stable,
            self.group(self.stable).map_or(0, |group| group.generation),
        )
    }

    /// What of the real rollout is not as it has to be.
    pub(super) fn objection(&self, real: &Rollout) -> Option<String> {
        if real.revision().0 != self.revision || number_of(real.stable()) != self.stable {
            return Some(format!(
                "revision {}, stable {}",
                real.revision(),
                real.stable()
            ));
        }
        for n in 0..GROUPS as u8 {
            let seen = real
                .groups()
                .iter()
                .find(|group| number_of(group.name()) == n);
            let seen = seen.map(|group| Group {
                generation: group.id().generation(),
                weight: u64::from(group.weight().get()),
                life: match group.state() {
                    State::Staged => Life::Staged,
                    State::Active => Life::Active,
                    State::Draining { .. } => Life::Draining,
                    State::Aborted(_) => Life::Aborted,
                    State::Retired { at } => Life::Retired(at.as_millis()),
                },
            });
            if seen.as_ref() != self.group(n) {
                return Some(format!("g{n} is {seen:?}, not {:?}", self.group(n)));
            }
        }
        let known = ids_of(real);
        if let Some(id) = self.aborts.keys().find(|id| !known.contains(id)) {
            return Some(format!("the abort of {id:?} is forgotten"));
        }
        for id in known {
            let seen = real.ids().find(|known| id_of(known) == id)?;
            let abort = match real.status(seen) {
                Status::Aborted(abort) => Some(Abort {
                    target: id_of(&abort.target),
                    policy: abort.policy,
                }),
                Status::Serving(_) | Status::Gone => None,
            };
            if abort != self.aborts.get(&id).map(|(abort, _)| *abort) {
                return Some(format!("the abort of {id:?} is {abort:?}"));
            }
        }
        None
    }

    /// Whether the real rollout remembers too much or too little.
    pub(super) fn remembers(&self, real: &Rollout) -> bool {
        let current = (0_u8..)
            .zip(&self.groups)
            .filter_map(|(n, group)| Some((n, group.as_ref()?.generation)));
        let mut ids: Vec<Id> = current.chain(self.buried.keys().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids == ids_of(real)
    }
}
