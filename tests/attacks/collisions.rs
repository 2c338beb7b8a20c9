//! SEC-48: names of fields that the map of headers finds in one place.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use http::HeaderName;
use tokio::time::Instant;

use super::support::{Site, Talk};

/// As many as one request may have beside those that every request has.
const NAMES: usize = 90;

/// How much longer requests of chosen names may take.
const RATIO: f64 = 3.0;

/// The hash that `http` begins with, FNV-1a, of which it looks at 15 bits.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0 & 0x7fff
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn hash(name: &str) -> Fnv {
    let name: HeaderName = name.parse().expect("a name of a field");
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    name.hash(&mut hasher);
    hasher
}

/// Names of the same length, of which the first set has one hash, and the second all kinds.
fn names() -> [Vec<String>; 2] {
    let Fnv(begun) = hash("x-");
    let mut places = vec![Vec::new(); 1 << 15];
    // a place has 90 of 2.9 million on average, and the fullest far earlier
    for n in 10_000_000..13_000_000_u32 {
        let mut hasher = Fnv(begun);
        let digits: [_; 8] =
            std::array::from_fn(|at| b'0' + (n / 10_u32.pow(at as u32) % 10) as u8);
        hasher.write(&digits);
        let place = &mut places[hasher.finish() as usize];
        place.push(format!("x-{}", String::from_utf8_lossy(&digits)));
        if place.len() == NAMES {
            let chosen = std::mem::take(place);
            let one = hash(&chosen[0]).finish();
            assert!(
                chosen.iter().all(|name| hash(name).finish() == one),
                "another hash than the map's"
            );
            let random = (0..NAMES).map(|n| format!("x-{:08}", n * 1_022_013));
            return [chosen, random.collect()];
        }
    }
    panic!("no {NAMES} names of one hash");
}

/// How many requests of each kind a round has: 10⁵ names in the full form.
fn requests() -> usize {
    match std::env::var("AFFINITY_FAULTS").as_deref() {
        Ok("full") => 100_000 / NAMES + 1,
        _ => 100,
    }
}

async fn ask(talk: &mut Talk, names: &[String], times: usize) -> Duration {
    let fields: String = names.iter().map(|name| format!("{name}: 1\r\n")).collect();
    let request = format!("GET / HTTP/1.1\r\nhost: shop.example\r\n{fields}\r\n");
    let before = Instant::now();
    for _ in 0..times {
        talk.write(&request).await;
        assert_eq!(talk.answer().await.status(), 200);
    }
    before.elapsed()
}

#[tokio::test]
async fn sec_48_names_that_collide_take_no_more_than_three_times_as_long() {
    let site = Site::start().await;
    let [alike, random] = names();
    let mut talk = Talk::open(site.address()).await;
    // the least of some rounds: other tests run beside this one
    let (mut chosen, mut usual) = (Duration::MAX, Duration::MAX);
    for _ in 0..5 {
        usual = usual.min(ask(&mut talk, &random, requests()).await);
        chosen = chosen.min(ask(&mut talk, &alike, requests()).await);
        let seen = site.a.take();
        assert_eq!(seen.len(), 2 * requests(), "not all reached the endpoint");
        for name in &alike {
            let last = seen[seen.len() - 1].fields(name);
            assert_eq!(last, [b"1"], "{name} was lost");
        }
    }
    let ratio = chosen.as_secs_f64() / usual.as_secs_f64();
    tell(&format!(
        "SEC-48: {NAMES} names in each of {} requests, {chosen:.1?} against {usual:.1?}, {ratio:.2} \
         times as long",
        requests()
    ));
    assert!(ratio <= RATIO, "{chosen:?} instead of {usual:?}");
}

#[expect(clippy::print_stdout, reason = "a run tells what it measured")]
fn tell(measured: &str) {
    println!("{measured}");
}
