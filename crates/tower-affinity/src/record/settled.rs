//! What an answer makes true of a session: it has begun or has moved.

use metrics::Label;
use tower_affinity_core::{Decision, Kind, SessionPin};

use super::names;
use super::series::Series;

impl Series {
    /// A session that is new here, or has moved here, has got an answer.
    pub(super) fn settled(&self, decision: &Decision) {
        match (decision.kind, decision.moved_from()) {
            (Kind::Assigned, _) if decision.session().is_some() => self.assigned(),
            (Kind::Moved, Some(moved)) => {
                let labels = vec![
                    Label::new("from", moved.from.label().to_owned()),
                    Label::new("to", decision.group_label().to_owned()),
                    Label::from_static_parts("cause", decision.cause.as_str()),
                ];
                if let Some(pin) = &decision.pin
                    && self.common().moved.is_new(key_of(pin))
                {
                    let labels = labels.clone();
                    self.source().count(names::SESSIONS_MOVED, labels, 1);
                }
                self.auth().arrived(moved);
                self.source().count(names::MOVES, labels, 1);
            }
            _ => {}
        }
    }
}

/// Of a session after so many moves.
pub(super) fn key_of(pin: &SessionPin) -> u64 {
    let bits = pin.session.bits() as u64;
    bits.rotate_left(pin.moves % 64)
}
