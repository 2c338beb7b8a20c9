//! Pins that we did not sign.

use tower_affinity_core::{GroupId, Revision, SessionId, SessionPin, Timestamp};

use crate::sim::names::{lifetimes, name_of};
use crate::sim::traffic::Sent;
use crate::sim::world::World;

impl World<'_> {
    /// Something that we did not sign.
    pub(crate) fn forged(&mut self, held: Option<&Sent>) -> String {
        let now = Timestamp::from_millis(self.now);
        let group = GroupId::new(name_of(0).clone(), 1);
        let session = SessionId::from_random(self.dice.bits());
        let pin = SessionPin::new(session, group, Revision(10), now, lifetimes());
        let mut text = held.map_or_else(
            || "e30.e30.e30".to_owned(),
            |held| self.text(held).to_owned(),
        );
        match self.dice.below(6) {
            0 | 1 => self.forger.seal(&pin).token,
            2 => self.neighbour.seal(&pin).token,
            3 => {
                let end = text.rfind('.').unwrap_or_default();
                let at = self.dice.below(end);
                let other = if text.as_bytes()[at] == b'A' {
                    "B"
                } else {
                    "A"
                };
                text.replace_range(at..=at, other);
                text
            }
            4 => {
                text.truncate(self.dice.below(text.len()));
                text
            }
            _ => text.repeat(3),
        }
    }
}
