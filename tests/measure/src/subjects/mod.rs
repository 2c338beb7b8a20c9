//! What is measured: the store in memory, and maps that hold whole pins.
//!
//! The maps do less than the store: they bound nothing (but for moka), order nothing by its end and
//! count nothing. They are here for what finding and changing a row costs in each.

mod concurrent;
mod locked;
mod ours;

use tower_affinity_core::{SessionPin, Terms, is_current};

/// A store of assignments, as far as the job needs one.
pub(crate) trait Subject {
    /// Answers the row that stands, refreshed if that is due; else keeps this one.
    fn claim(&self, pin: SessionPin, terms: Terms) -> SessionPin;
}

pub(crate) type Make = fn(usize) -> Box<dyn Subject>;

pub(crate) const ALL: [(&str, Make); 6] = [
    ("memory-store", |rows| Box::new(ours::Ours::new(rows))),
    ("hashbrown", |_| Box::new(locked::Hashbrown::new())),
    ("dashmap", |_| Box::new(concurrent::Dash::default())),
    ("scc", |_| Box::new(concurrent::Scc::default())),
    ("papaya", |_| Box::new(concurrent::Papaya::default())),
    ("moka", |rows| Box::new(concurrent::Moka::new(rows))),
];

pub(crate) fn by_name(name: &str) -> Option<Make> {
    ALL.iter()
        .find(|(of, _)| *of == name)
        .map(|(_, make)| *make)
}

/// What becomes of a row that was found.
fn refreshed(standing: &SessionPin, offered: SessionPin, terms: Terms) -> SessionPin {
    if is_current(standing, terms).is_ok() {
        standing.clone().touched(terms.now, terms.lifetimes)
    } else {
        offered
    }
}
