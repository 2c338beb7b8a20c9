//! The orders of an operator, drawn from the seed.

use crate::sim::model::Life;
use crate::sim::names::GROUPS;
use crate::sim::parts::{Order, Stay};
use crate::sim::world::{Source, World};

impl World<'_> {
    pub(crate) fn any_group(&mut self) -> u8 {
        u8::try_from(self.dice.below(GROUPS)).unwrap_or_default()
    }

    /// The target of an abort, which is not always named.
    pub(crate) fn maybe_a_group(&mut self) -> Option<u8> {
        let names = self.dice.chance(400);
        names.then(|| self.any_group())
    }

    /// A group to which the verb of that number mostly applies.
    pub(crate) fn fitting_group(&mut self, verb: usize) -> u8 {
        let mut group = self.any_group();
        for _ in 0..3 {
            let model = match self.source {
                Source::Engine => &self.head.model,
                Source::Files => &self.replicas[0].state.model,
            };
            let life = model.group(group).map(|group| group.life);
            let fits = match verb {
                0 | 1 => matches!(life, None | Some(Life::Retired(_))),
                9..=11 => life == Some(Life::Active) && group != model.stable,
                16 | 17 => matches!(life, Some(Life::Aborted | Life::Retired(_))),
                18.. => matches!(life, Some(Life::Draining | Life::Staged | Life::Aborted)),
                _ => matches!(life, Some(Life::Staged | Life::Active | Life::Draining)),
            };
            if fits {
                break;
            }
            group = self.any_group();
        }
        group
    }

    pub(crate) fn any_order(&mut self) -> Order {
        let locked = match self.source {
            Source::Engine => self.head.model.locked,
            Source::Files => self.replicas[0].state.model.locked,
        };
        if self.dice.chance(if locked { 300 } else { 15 }) {
            return Order::Lock(!locked);
        }
        let verb = self.dice.below(20);
        let group = self.fitting_group(verb);
        match verb {
            0 | 1 => {
                let weight = self.dice.within(0, 2) * 10;
                Order::Register(group, weight)
            }
            2..=5 => {
                let other = (group + 1) % GROUPS as u8;
                let weights = [group, other].map(|n| (n, self.dice.within(0, 4) * 25));
                Order::Weights(weights.into_iter().take(1 + self.dice.below(2)).collect())
            }
            6..=8 => Order::Promote(group),
            9..=11 => Order::Drain(group),
            12..=15 => {
                let policy = match self.dice.below(8) {
                    0..=3 => None,
                    4 => Some(Stay::Move),
                    5 | 6 => Some(Stay::For(self.dice.within(1, 3_600))),
                    _ => Some(Stay::End),
                };
                let to = self.maybe_a_group();
                let force = self.dice.chance(200);
                Order::Abort {
                    group,
                    to,
                    policy,
                    force,
                }
            }
            16 | 17 => Order::Restore(group),
            _ => {
                let force = self.dice.chance(150);
                Order::Retire { group, force }
            }
        }
    }
}
