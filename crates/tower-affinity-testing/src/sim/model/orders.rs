//! What each order makes of a state.

use tower_affinity_core::Timestamp;

use super::{Life, Model};
use crate::sim::names::Millis;
use crate::sim::parts::Order;

impl Model {
    /// The state after `order`; `None` if it is refused.
    pub(crate) fn after(
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
        if self.locked && !matches!(order, Order::Abort { .. } | Order::Lock(_)) {
            return None;
        }
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
                        if to.is_some_and(|to| to != abort.target.0) {
                            return None;
                        }
                        abort.policy = policy.unwrap_or(abort.policy);
                    }
                    _ => next.abort(*group, self.target(*group, *to, *force, ready)?, policy),
                }
            }
            Order::Lock(locked) => next.locked = *locked,
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
            && next.aborts == before.aborts
            && next.locked == before.locked;
        if same && !always {
            return Some(self.clone());
        }
        next.revision = revision;
        if matches!(order, Order::Weights(_)) || matches!(order, Order::Register(_, 1..)) {
            next.drawn = revision;
        }
        Some(next)
    }
}
