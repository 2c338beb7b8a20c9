//! What has to become of a session with a pin.

use tower_affinity_core::{AbortPolicy, Cause, Kind, OnGone, OnStep, Policy};

use super::{Must, Sight};
use crate::sim::ledger::Entry;
use crate::sim::model::{Life, Model};

impl Model {
    pub(super) fn pinned(&self, policy: &Policy, pin: &Entry, sight: &Sight) -> Must {
        let strict = policy.on_gone == OnGone::Strict;
        let (id, above) = (pin.id, pin.revision > self.revision);
        let out = self.is_lost(id.0, sight);
        let (lost, waits) = (out && !strict, out && strict);
        let holds = self.holds(pin, sight);
        if let Some((abort, _)) = self.aborts.get(&id) {
            let to = self.destination(*abort);
            return match abort.policy {
                policy if Self::stays(policy, sight.now) && lost => {
                    Must::be(Kind::Moved, Cause::GroupDown, to)
                }
                policy if Self::stays(policy, sight.now) => Must {
                    holds,
                    ..Must::be(Kind::Pinned, Cause::AbortedStay, id)
                },
                AbortPolicy::End => Must::refuse(Cause::AbortedEnd),
                _ => Must::be(Kind::Moved, Cause::Aborted, to),
            };
        }
        if !self.is_serving(id) {
            let waits = sight.now.saturating_sub(sight.behind_since) < 10_000;
            return if !self.knows(id) && above && !sight.proved && waits {
                Must::refuse(Cause::Behind)
            } else if strict {
                Must::refuse(Cause::Gone)
            } else {
                self.draw(Kind::Moved, Some(Cause::Gone), sight)
            };
        }
        if above {
            return Must::be(Kind::Pinned, Cause::Behind, id);
        }
        if lost && !self.drawn(sight).is_empty() {
            return self.draw(Kind::Moved, Some(Cause::GroupDown), sight);
        }
        if pin.released && !waits && self.may_leave(id, sight) {
            return Must::be(Kind::Moved, Cause::Released, self.id(self.stable));
        }
        if policy.on_step == OnStep::Reassign && !waits && self.draws_anew(pin) {
            let near = Sight {
                down: std::array::from_fn(|n| sight.down[n].filter(|_| n != usize::from(id.0))),
                ..*sight
            };
            if !self.drawn(&near).is_empty() {
                let must = self.draw(Kind::Moved, Some(Cause::Step), &near);
                return Must {
                    steps: Some(id),
                    ..must
                };
            }
        }
        let cause = if self.drains(id) {
            Cause::Draining
        } else {
            Cause::Ok
        };
        Must {
            holds,
            ..Must::be(Kind::Pinned, cause, id)
        }
    }

    pub(super) fn draws_anew(&self, pin: &Entry) -> bool {
        let active = self
            .group(pin.id.0)
            .is_some_and(|group| group.life == Life::Active);
        active && !pin.placed && pin.assigned < self.drawn
    }
}
