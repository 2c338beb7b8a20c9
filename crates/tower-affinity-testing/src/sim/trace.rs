//! What happened: one hash over everything, and the last events once a run has failed.

use std::collections::VecDeque;

use super::reached::Reached;

const KEPT: usize = 40;

/// FNV-1a over all events. Events are written out only in the second run of a seed that failed.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) hash: u64,
    pub(super) reached: Reached,
    events: Option<VecDeque<String>>,
}

impl Trace {
    pub(super) fn new(tells: bool) -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            reached: Reached::default(),
            events: tells.then(VecDeque::new),
        }
    }

    pub(super) fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn mix_numbers(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.mix(&number.to_le_bytes());
        }
    }

    /// Keeps an event for the report of a failure.
    pub(super) fn tell(&mut self, event: impl FnOnce() -> String) {
        if let Some(events) = &mut self.events {
            if events.len() == KEPT {
                events.pop_front();
            }
            events.push_back(event());
        }
    }

    pub(super) fn into_events(self) -> Vec<String> {
        self.events.map(Vec::from).unwrap_or_default()
    }
}
