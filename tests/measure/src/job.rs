//! The job: fill, then get and refresh.

use std::hint::black_box;
use std::time::Duration;

use tower_affinity_core::{GroupId, Lifetimes, Revision, SessionId, SessionPin, Terms, Timestamp};

use crate::report::{Spread, now};
use crate::subjects::{Make, Subject};

/// How often every session comes back: three times, or once where there are many.
const fn rounds(rows: usize) -> u64 {
    if rows > 2_000_000 { 1 } else { 3 }
}

/// How many calls are timed together: long enough for the clock, short enough for a busy machine to
/// spoil only a few.
const TIMED: usize = 2_000;

const START: u64 = 1_800_000_000;

/// What was measured; times are nanoseconds for one call.
pub(crate) struct Measured {
    pub(crate) fill: Spread,
    pub(crate) refresh: Spread,
    /// Bytes that are allocated for a row, its key included: at the end, and at the worst moment.
    pub(crate) bytes: f64,
    pub(crate) most_bytes: f64,
}

pub(crate) fn run(make: Make, rows: usize) -> Measured {
    let lifetimes = Lifetimes::default();
    // a session comes back once a quarter of its idle lifetime is over
    let round = lifetimes.idle().as_secs() / 4;
    let pins = Pins::new(lifetimes);
    let terms = |round_nth: u64, nth: usize| Terms {
        now: Timestamp::from_secs(START + round_nth * round + nth as u64 * round / rows as u64),
        lifetimes,
    };
    let mut subject: Option<Box<dyn Subject>> = None;
    let mut fill = Vec::new();
    let allocated = allocation_counter::measure(|| {
        let filled = subject.insert(make(rows));
        // what the clock's readings take is not the subject's
        fill = timed(rows, |nth| {
            let (key, terms) = (shuffled(nth, rows), terms(0, nth));
            black_box(filled.claim(pins.of(key, terms.now), terms));
        });
    });
    let noted = (fill.capacity() * size_of::<f64>()) as f64;
    let mut refresh = Vec::new();
    if let Some(filled) = &subject {
        for nth_round in 1..=rounds(rows) {
            refresh.extend(timed(rows, |nth| {
                let (key, terms) = (shuffled(nth, rows), terms(nth_round, nth));
                let stands = filled.claim(pins.of(key, terms.now), terms);
                assert!(stands.issued == terms.now.whole_secs(), "it was not due");
                black_box(stands);
            }));
        }
    }
    Measured {
        fill: Spread::of(fill),
        refresh: Spread::of(refresh),
        bytes: (allocated.bytes_current as f64 - noted) / rows as f64,
        most_bytes: (allocated.bytes_max as f64 - noted) / rows as f64,
    }
}

/// Nanoseconds for one call, of every few calls.
fn timed(calls: usize, mut call: impl FnMut(usize)) -> Vec<f64> {
    let mut times = Vec::with_capacity(calls / TIMED);
    let mut nth = 0;
    while nth + TIMED <= calls {
        let start = now();
        for nth in nth..nth + TIMED {
            call(nth);
        }
        times.push(start.elapsed().as_nanos() as f64 / TIMED as f64);
        nth += TIMED;
    }
    (nth..calls).for_each(call);
    times
}

/// The order in which sessions come: far from the one before, and each once a round.
fn shuffled(nth: usize, rows: usize) -> u64 {
    // a prime, which has no divisor in common with a round number of rows
    const STRIDE: u64 = 6_180_341;
    nth as u64 * STRIDE % rows as u64
}

/// The pins that sessions show, of four groups.
struct Pins {
    templates: Vec<SessionPin>,
}

impl Pins {
    fn new(lifetimes: Lifetimes) -> Self {
        let template = |name: &str| {
            let group = name.parse().ok().map(|name| GroupId::new(name, 1))?;
            let (session, now) = (SessionId::from_random(0), Timestamp::from_secs(START));
            Some(SessionPin::new(
                session,
                group,
                Revision(START),
                now,
                lifetimes,
            ))
        };
        let names = ["9f1c2ab", "c3d4e5f", "0a1b2c3", "77aa88b"];
        Self {
            templates: names.into_iter().filter_map(template).collect(),
        }
    }

    /// A pin as a client holds it: a clone, since calls take it by value.
    #[expect(clippy::indexing_slicing, reason = "a remainder is within the length")]
    fn of(&self, key: u64, now: Timestamp) -> SessionPin {
        let template = &self.templates[key as usize % self.templates.len()];
        let session = SessionId::from_random(bits(key));
        let issued = now.whole_secs();
        SessionPin {
            session,
            issued,
            expires: issued.plus(Duration::from_secs(1_800)),
            ..template.clone()
        }
    }
}

/// 128 bits without a pattern.
fn bits(nth: u64) -> u128 {
    // the finalizer of SplitMix64, twice
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let step = nth.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u128::from(mix(step)) << 64 | u128::from(mix(step ^ 0x5555_5555_5555_5555))
}
