//! The parts that the orders are made of.

use tower_affinity_core::AbortPolicy;

use super::{Abort, Group, Life, MEMORY, Model};
use crate::sim::names::{Id, Millis};

impl Model {
    pub(super) fn target(
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

    pub(super) fn abort(&mut self, group: u8, target: u8, policy: Option<AbortPolicy>) {
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

    pub(super) fn put(&mut self, n: u8, generation: u32) {
        self.groups[usize::from(n)] = Some(Group {
            generation,
            life: Life::Staged,
            weight: 0,
        });
    }

    pub(super) fn set(&mut self, n: u8, life: Life, weight: u64) {
        if let Some(group) = &mut self.groups[usize::from(n)] {
            (group.life, group.weight) = (life, weight);
        }
    }

    pub(super) fn weigh(&mut self, n: u8, weight: u64) {
        if let Some(group) = &mut self.groups[usize::from(n)] {
            group.weight = weight;
            if weight > 0 {
                group.life = Life::Active;
            }
        }
    }

    pub(super) fn add_weight(&mut self, n: u8, more: u64, least: u64) {
        if let Some(group) = &mut self.groups[usize::from(n)] {
            group.weight = (group.weight + more).min(10_000).max(least);
        }
    }

    pub(super) fn make_stable(&mut self, n: u8) {
        if n != self.stable {
            let before = std::mem::replace(&mut self.stable, n);
            self.former
                .retain(|former| *former != before && *former != n);
            self.former.push(before);
        }
    }

    pub(super) fn bury(&mut self, id: Id, now: Millis) {
        self.buried.insert(id, now + MEMORY);
        if let Some((_, until)) = self.aborts.get_mut(&id) {
            until.get_or_insert(now + MEMORY);
        }
    }

    pub(super) fn bring_back(&mut self, (n, generation): Id, now: Millis) {
        self.bury((n, generation), now);
        self.put(n, generation + 1);
    }

    pub(super) fn forget(&mut self, now: Millis) {
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
}
