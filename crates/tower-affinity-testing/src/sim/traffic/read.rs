//! What a replica reads out of a request, and which of the pins counts.

use tower_affinity_core::{
    Absence, Fault, Level, MAX_CANDIDATES, SessionPin, Shown, Timestamp, present,
};

use super::Sent;
use crate::sim::Violation;
use crate::sim::ledger::Entry;
use crate::sim::names::{Millis, lifetimes};
use crate::sim::world::{Check, World};

impl World<'_> {
    /// The entries among the candidates that are valid pins by a clock that shows `now`.
    pub(crate) fn valid(&self, sent: &[Sent], now: Millis) -> Vec<usize> {
        if sent.len() > MAX_CANDIDATES {
            return Vec::new();
        }
        let issued = sent.iter().filter_map(|sent| match sent {
            Sent::Issued(entry) => Some(*entry),
            Sent::Forged(_) => None,
        });
        issued
            .filter(|entry| self.ledger[*entry].is_valid(now))
            .collect()
    }

    /// What the wire side makes of the candidates.
    pub(crate) fn read(&self, replica: usize, sent: &[Sent], at: Timestamp) -> Shown {
        let codec = self.codec(replica);
        let tokens: Vec<&[u8]> = sent.iter().map(|sent| self.text(sent).as_bytes()).collect();
        let open = |token: &[u8]| self.parts.open(&codec, token, at, lifetimes());
        let chosen = self.parts.choose(&tokens, &open);
        present(None, || chosen, || Absence::New).0
    }

    /// The issued pin that was chosen, which has to be the greatest of the valid ones.
    pub(crate) fn check_chosen(
        &mut self,
        (replica, at): (usize, Timestamp),
        sent: &[Sent],
        valid: &[usize],
        shown: &Shown,
        level: Level,
    ) -> Check<Option<Entry>> {
        let codec = self.codec(replica);
        let reached = &mut self.trace.reached;
        reached.too_many_candidates += u64::from(sent.len() > MAX_CANDIDATES);
        let different = valid
            .iter()
            .any(|entry| self.ledger[*entry].rank() != self.ledger[valid[0]].rank());
        reached.two_valid_duplicates += u64::from(different);
        let greatest = valid.iter().map(|entry| self.ledger[*entry].rank()).max();
        match (shown, greatest) {
            (Shown::Nothing(absence), None) => {
                let forged = sent.iter().any(|sent| matches!(sent, Sent::Forged(_)));
                reached.forgery_refused += u64::from(forged);
                reached.from_the_future += u64::from(*absence == Absence::Fault(Fault::FromFuture));
                Ok(None)
            }
            (Shown::Nothing(absence), Some(_)) if level.has_session() || level == Level::Follow => {
                Violation::of(
                    "I1 obedience",
                    format!("a valid pin was taken for {absence:?}"),
                )
            }
            (Shown::Nothing(_), Some(_)) => Ok(None),
            (Shown::Pin(pin), greatest) => {
                let alike = valid
                    .iter()
                    .map(|entry| &self.ledger[*entry])
                    .filter(|entry| is_of(pin, entry));
                let mut alike: Vec<&Entry> = alike.collect();
                if alike.len() > 1 {
                    // two replicas may move a session to different groups in one second
                    let opens = |entry: &Entry| codec.open(entry.token.as_bytes(), at, lifetimes());
                    alike.retain(|entry| opens(entry).is_ok_and(|opened| opened.pin == **pin));
                }
                let same = alike.first().copied();
                match same {
                    Some(entry) if Some(entry.rank()) == greatest => Ok(Some(entry.clone())),
                    Some(entry) => Violation::of(
                        "I3 the newest pin",
                        format!("{:?} was chosen, not {greatest:?}", entry.rank()),
                    ),
                    None => Violation::of(
                        "I6 signed by us",
                        format!("{pin:?} was accepted, which nobody issued or is not valid"),
                    ),
                }
            }
        }
    }
}

/// Whether an opened pin is the one that was issued, as far as its own claims tell.
fn is_of(pin: &SessionPin, entry: &Entry) -> bool {
    (
        pin.session.bits(),
        pin.revision.0,
        pin.moves,
        pin.assigned.0,
        pin.placed,
    ) == (
        entry.session,
        entry.revision,
        entry.moves,
        entry.assigned,
        entry.placed,
    ) && (
        pin.started.as_millis(),
        pin.issued.as_millis(),
        pin.expires.as_millis(),
    ) == (entry.started, entry.issued, entry.expires)
}
