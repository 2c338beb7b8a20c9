//! Live sessions as a sketch: its error, its union and its text.

use proptest::prelude::*;

use crate::{SessionId, Sketch};

/// The nth of a row of random ids (two outputs of SplitMix64).
fn session(nth: u64, seed: u64) -> SessionId {
    let word = |n: u64| {
        let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u128::from(z ^ (z >> 31))
    };
    let n = (nth ^ (seed << 40)) * 2;
    SessionId::from_random(word(n) << 64 | word(n + 1))
}

fn sketch(sessions: impl IntoIterator<Item = u64>, seed: u64) -> Sketch {
    let mut sketch = Sketch::default();
    for nth in sessions {
        sketch.insert(session(nth, seed));
    }
    sketch
}

fn told(sketch: &Sketch) -> Sketch {
    Sketch::from_text(&sketch.to_text()).unwrap()
}

#[test]
fn sessions_that_three_replicas_saw_count_once_within_five_per_cent() {
    for seed in 0..8 {
        let mut replicas = [const { Vec::<u64>::new() }; 3].map(|_| Sketch::default());
        let mut seen = 0;
        for upto in [
            100, 1_000, 10_000, 20_000, 30_000, 100_000, 300_000, 1_000_000,
        ] {
            for nth in seen..upto {
                // each is seen by one, two or all of them
                for (n, replica) in replicas.iter_mut().enumerate() {
                    if nth % 3 == n as u64 || nth % 2 == 0 {
                        replica.insert(session(nth, seed));
                    }
                }
            }
            seen = upto;
            let mut union = Sketch::default();
            replicas
                .iter()
                .for_each(|replica| union.merge(&told(replica)));
            let error = (union.count() - upto as f64).abs() / upto as f64;
            assert!(error <= 0.05, "{union:?} of {upto} sessions, seed {seed}");
        }
    }
}

#[test]
fn replicas_with_other_sessions_each_add_up() {
    let mut union = sketch(0..40_000, 1);
    union.merge(&told(&sketch(40_000..50_000, 1)));
    union.merge(&told(&sketch([50_000], 1)));
    let error = (union.count() - 50_001.0).abs() / 50_001.0;
    assert!(error <= 0.05, "{union:?}");
}

#[test]
fn a_text_is_as_long_as_there_are_sessions_and_never_too_long() {
    for (sessions, most) in [
        (0, 11),
        (1, 24),
        (100, 250),
        (1_000, 1_900),
        (10_000, 4_200),
    ] {
        let text = sketch(0..sessions, 3).to_text();
        assert!(text.len() <= most, "{} for {sessions}", text.len());
    }
    let mut growing = Sketch::default();
    for nth in 0..200_000 {
        growing.insert(session(nth, 4));
        if nth % 1_000 == 0 {
            let len = growing.to_text().len();
            assert!(len <= 4_450, "{len} for {nth}");
        }
    }
}

#[test]
fn what_no_sketch_writes_is_refused() {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    let empty = [2, 0];
    let with = |level: &[u8]| {
        let bytes = [&empty, level, &empty, &empty].concat();
        Sketch::from_text(&URL_SAFE_NO_PAD.encode(bytes))
    };
    assert_eq!(with(&empty), Some(Sketch::default()));
    for level in [
        [2, 0xff, 0xff, 1].as_slice(),
        &[2, 0xff, 0x7f, 0],
        &[2, 1],
        &[1, 2, 3],
        &[3],
        &[2, 0, 0],
        &[],
    ] {
        assert_eq!(with(level), None, "{level:?}");
    }
    for text in ["", "!", "AgACAAIA", &"A".repeat(100_000)] {
        assert_eq!(Sketch::from_text(text), None, "{text:.20}");
    }
}

proptest! {
    #[test]
    fn a_text_tells_the_same_number(sessions in 0_u64..60_000, seed in 0_u64..1_000) {
        let sketch = sketch(0..sessions, seed);
        prop_assert_eq!(told(&sketch).count(), sketch.count());
        prop_assert_eq!(told(&sketch).to_text(), sketch.to_text());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[A-Za-z0-9_-]{0,60}") {
        let _ = Sketch::from_text(&text).map(|sketch| sketch.count());
    }
}
