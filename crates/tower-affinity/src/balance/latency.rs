//! How long an endpoint takes to answer: an average with peaks.
//!
//! The method is the peak-sensitive, exponentially weighted moving average of Finagle and tower
//! (`tower::load::PeakEwma`). Other than there, a failure counts as a slow answer: else what fails
//! at once would look fastest and draw the most requests (linkerd2-proxy 4537).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::Timestamp;

/// In how many milliseconds an old average loses its weight: to 1/e.
const DECAY: f32 = 10_000.0;

/// What a failure counts at least.
const PENALTY: Duration = Duration::from_secs(1);

/// The least that is told, in milliseconds: the clock has no finer steps.
const LEAST: f32 = 1.0;

/// The average and when it was taken, in one word so that both belong together: the bits of an
/// `f32` of milliseconds above, and the lower half of the time in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Latency(AtomicU64);

impl Latency {
    /// In milliseconds, at least one. It falls while nothing is heard.
    pub(super) fn load(&self, now: Timestamp) -> f32 {
        let (average, age) = unpack(self.0.load(Ordering::Relaxed), now);
        (average * (-age / DECAY).exp()).max(LEAST)
    }

    /// An exchange took `span` until its answer, or until it failed.
    pub(super) fn observe(&self, span: Duration, failed: bool, now: Timestamp) {
        let span = if failed { span.max(PENALTY) } else { span };
        let span = span.as_secs_f32() * 1000.0;
        let observe = |kept| {
            let (average, age) = unpack(kept, now);
            let weight = (-age / DECAY).exp();
            let decayed = average * weight;
            let next = if span > decayed {
                span
            } else {
                decayed + span * (1.0 - weight)
            };
            Some(u64::from(next.to_bits()) << 32 | u64::from(now.as_millis() as u32))
        };
        let updated = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, observe);
        // the closure always gives a value
        debug_assert!(updated.is_ok());
    }
}

fn unpack(kept: u64, now: Timestamp) -> (f32, f32) {
    let average = f32::from_bits((kept >> 32) as u32);
    let age = (now.as_millis() as u32).wrapping_sub(kept as u32);
    // threads may observe in another order than they read the clock
    let age = if age > u32::MAX / 2 { 0 } else { age };
    (average, age as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + millis)
    }

    fn took(latency: &Latency, millis: u64, now: u64) {
        latency.observe(Duration::from_millis(millis), false, at(now));
    }

    #[test]
    fn a_peak_counts_at_once_and_fades() {
        let latency = Latency::default();
        took(&latency, 10, 0);
        assert!((latency.load(at(0)) - 10.0).abs() < 0.1);
        took(&latency, 400, 100);
        assert!((latency.load(at(100)) - 400.0).abs() < 0.1, "the peak");
        let mut before = 400.0;
        for second in 1..60 {
            took(&latency, 10, 100 + second * 1000);
            let now = latency.load(at(100 + second * 1000));
            assert!(now < before, "the average did not fall: {before} to {now}");
            before = now;
        }
        assert!((8.0..13.0).contains(&before), "{before} is not about 10");
    }

    #[test]
    fn a_failure_is_not_fast() {
        let latency = Latency::default();
        latency.observe(Duration::ZERO, true, at(0));
        assert!(latency.load(at(0)) >= 1000.0);
        assert!(latency.load(at(100_000)) <= 1.1, "it is never forgotten");
    }
}
