//! Endpoints and replicas that fail, come back, and rotate their keys.

use std::rc::Rc;

use super::MINUTE;
use crate::sim::names::{GROUPS, Millis, TA, codec};
use crate::sim::world::{Check, Event, World};

impl World<'_> {
    pub(crate) fn endpoint_event(&mut self) -> Check {
        let group = self.dice.below(GROUPS);
        let endpoint = self.dice.below(self.endpoints[group].len());
        let up = self.dice.chance(800);
        self.comes(group, endpoint, up);
        for replica in 0..self.replicas.len() {
            let delay = self.dice.within(0, 3_000);
            self.after(delay, Event::Look(replica, group));
        }
        Ok(())
    }

    /// A replica's health check comes to a group.
    pub(crate) fn look(&mut self, replica: usize, group: usize) {
        let now = self.clock(replica).as_millis();
        let up = self.is_up(group);
        let down = &mut self.replicas[replica].down[group];
        *down = if up { None } else { down.or(Some(now)) };
        self.replicas[replica].endpoints[group] = self.pods(group);
    }

    pub(crate) fn replica_event(&mut self) -> Check {
        let at = self.dice.below(self.replicas.len());
        let now = self.clock(at).as_millis();
        match self.dice.below(10) {
            0 => {
                let replica = &mut self.replicas[at];
                replica.blind = replica.blind.or(Some(now));
            }
            1 | 2 => self.replicas[at].blind = None,
            3 | 4 => {
                self.replicas[at].stepped += if self.dice.chance(500) {
                    3_600_000
                } else {
                    -3_600_000
                }
            }
            5 | 6 => return self.crash(at),
            7 if self.dice.chance(300) => self.leave(at),
            _ => self.rotate(at),
        }
        Ok(())
    }

    /// One replica takes the next step of a rotation: all of them verify with a key before one of
    /// them signs with it, and it leaves when no pin of it can be valid.
    pub(crate) fn rotate(&mut self, at: usize) {
        let least = self
            .replicas
            .iter()
            .map(|replica| replica.epoch)
            .min()
            .unwrap_or_default();
        let most = self
            .replicas
            .iter()
            .map(|replica| replica.epoch)
            .max()
            .unwrap_or_default();
        let own = self.replicas[at].epoch;
        if own != least || own >= 16 {
            return;
        }
        if least == most {
            if self.now < self.rotated_at + TA.as_millis() as Millis + 10 * MINUTE {
                return;
            }
            if self.codecs.len() <= own + 1 {
                self.codecs.push(Rc::new(codec(own + 1)));
            }
        }
        self.replicas[at].epoch = own + 1;
        self.rotated_at = self.now;
    }
}
