//! Whether the pins that are issued come back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many first pins are issued before it is judged how many came back.
const WINDOW: u64 = 1_000;

/// The least number of returned pins in a window: 1 %.
const LEAST: u64 = WINDOW / 100;

/// Counts first pins and pins that came back, a window at a time.
///
/// Requests and not sessions are counted: one session that goes on is enough to show that the
/// cookie survives its way.
#[derive(Debug, Default)]
pub(super) struct Returned {
    issued: AtomicU64,
    returned: AtomicU64,
    missing: AtomicBool,
}

impl Returned {
    /// A pin came back.
    pub(super) fn returned(&self) {
        // only whether there were a few matters: no need to write on every request
        if self.returned.load(Ordering::Relaxed) < LEAST {
            self.returned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A first pin was issued. At the end of a window it answers whether pins go missing, if that
    /// has changed.
    pub(super) fn issued(&self) -> Option<bool> {
        let nth = self.issued.fetch_add(1, Ordering::Relaxed) + 1;
        if !nth.is_multiple_of(WINDOW) {
            return None;
        }
        let missing = self.returned.swap(0, Ordering::Relaxed) < LEAST;
        (self.missing.swap(missing, Ordering::Relaxed) != missing).then_some(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(pins: &Returned, returned: u64) -> Option<bool> {
        (0..returned).for_each(|_| pins.returned());
        (0..WINDOW).filter_map(|_| pins.issued()).last()
    }

    #[test]
    fn missing_pins_are_told_once_and_so_is_their_return() {
        let pins = Returned::default();
        assert_eq!(window(&pins, LEAST), None);
        assert_eq!(window(&pins, LEAST - 1), Some(true));
        assert_eq!(window(&pins, 0), None, "told twice");
        assert_eq!(window(&pins, 5_000), Some(false));
    }
}
