//! Wrong reading and writing of pins: which bytes are believed, which pin counts, what is written.

use tower_affinity_core::{
    Answer, Chosen, Fault, GroupId, Lifetimes, Override, PinCodec, Said, SessionPin, Settled,
    Timestamp, choose, settle,
};
use tower_affinity_testing::sim::{self, Parts};

use super::Planted;

type Open<'a> = dyn Fn(&[u8]) -> Result<SessionPin, Fault> + 'a;

/// Counts another of several valid pins.
struct Picks(fn(Vec<SessionPin>) -> Option<SessionPin>);

impl Parts for Picks {
    fn choose(&self, candidates: &[&[u8]], open: &Open<'_>) -> Chosen {
        let right = choose(candidates, |token| open(token));
        let valid = candidates.iter().filter_map(|token| open(token).ok());
        match right {
            Some(Ok(_)) => (self.0)(valid.collect()).map(|pin| Ok(Box::new(pin))),
            _ => right,
        }
    }
}

fn first(pins: Vec<SessionPin>) -> Option<SessionPin> {
    pins.into_iter().next()
}

fn latest(pins: Vec<SessionPin>) -> Option<SessionPin> {
    pins.into_iter().max_by_key(|pin| (pin.issued, pin.session))
}

/// A signature by anybody will do.
struct Unsigned(PinCodec);

impl Parts for Unsigned {
    fn open(
        &self,
        codec: &PinCodec,
        token: &[u8],
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Result<SessionPin, Fault> {
        let opened = codec.open(token, now, lifetimes);
        let opened = opened.or_else(|_| self.0.open(token, now, lifetimes));
        opened.map(|opened| opened.pin)
    }
}

/// A dead pin is taken for a live one for a minute.
struct Lenient;

impl Parts for Lenient {
    fn open(
        &self,
        codec: &PinCodec,
        token: &[u8],
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Result<SessionPin, Fault> {
        let earlier = Timestamp::from_millis(now.as_millis() - 60_000);
        codec
            .open(token, earlier, lifetimes)
            .map(|opened| opened.pin)
    }
}

/// An override that anybody has signed will do.
struct AnyOverride(PinCodec);

impl Parts for AnyOverride {
    fn open_override(
        &self,
        codec: &PinCodec,
        token: &[u8],
        now: Timestamp,
    ) -> Result<Override, Fault> {
        let opened = codec.open_override(token, now);
        opened.or_else(|_| self.0.open_override(token, now))
    }
}

/// What the application says is changed before it is heard.
struct Hears(fn(Said) -> Said);

impl Parts for Hears {
    fn settle(&self, answer: &Answer<'_>, is_aborted: &dyn Fn(&GroupId) -> bool) -> Settled {
        let said = (self.0)(answer.said);
        settle(&Answer { said, ..*answer }, is_aborted)
    }
}

struct WritesBack;

impl Parts for WritesBack {
    fn settle(&self, answer: &Answer<'_>, _: &dyn Fn(&GroupId) -> bool) -> Settled {
        settle(answer, |_| false)
    }
}

struct FollowsSteps;

impl Parts for FollowsSteps {
    fn now(&self, _: Timestamp, wall: Timestamp) -> Timestamp {
        wall
    }
}

pub(super) fn all() -> Vec<Planted> {
    vec![
        (
            "the first cookie wins",
            Box::new(Picks(first)),
            &["I3 the newest pin"],
        ),
        (
            "no revision rule",
            Box::new(Picks(latest)),
            &["I3 the newest pin"],
        ),
        (
            "an unsigned pin is accepted",
            Box::new(Unsigned(sim::forger())),
            &["I6 signed by us"],
        ),
        (
            "an expired pin is accepted",
            Box::new(Lenient),
            &["I6 signed by us"],
        ),
        (
            "a pin to an aborted group is written back",
            Box::new(WritesBack),
            &["I2 abort"],
        ),
        (
            "an unsigned override is accepted",
            Box::new(AnyOverride(sim::forger())),
            &["I6 signed by us"],
        ),
        (
            "an end is not heard",
            Box::new(Hears(|said| Said { end: false, ..said })),
            &["the pin"],
        ),
        (
            "a release is not heard",
            Box::new(Hears(|said| Said {
                release: false,
                ..said
            })),
            &["the pin"],
        ),
        (
            "steps of the wall clock are followed",
            Box::new(FollowsSteps),
            &["I1 obedience", "I6 signed by us", "the pin"],
        ),
    ]
}
