//! What a proxy does to its connections.

use std::ops::Range;
use std::time::Duration;

/// What a proxy does; nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// Each piece towards the client comes so much later.
    pub delay: Duration,
    /// The most bytes in one piece; `None` as they come.
    pub piece: Option<usize>,
    /// The most bytes a second in each direction; `None` as they come.
    pub bandwidth: Option<u64>,
    /// Nothing is passed on: connections are accepted, and that is all.
    pub silent: bool,
    /// How connections end early.
    pub end: Option<End>,
    /// An idle connection is reset when the next byte comes from the client.
    pub reset_idle: bool,
}

/// An early end.
#[derive(Clone, Debug)]
pub struct End {
    /// In which direction bytes are counted.
    pub way: Way,
    /// After how many bytes since the fault was set; each connection draws its own number.
    pub after: Range<u64>,
    /// What they are drawn from.
    pub seed: u64,
    /// How it ends.
    pub how: How,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the endpoint.
    Up,
    /// From the endpoint to the client.
    Down,
}

/// How a connection ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Both sides are closed.
    Close,
    /// Both sides are reset.
    Reset,
    /// The receiving side sees the end, the other direction goes on.
    HalfClose,
    /// Nothing more comes, and nothing ends.
    Stall,
}

impl Fault {
    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Answers come so much later.
    #[must_use]
    pub fn delay(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    /// Connections are accepted, and nothing is passed on.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }

    /// Connections end after that many bytes from the endpoint.
    #[must_use]
    pub fn cut(after: Range<u64>, seed: u64, how: How) -> Self {
        let way = Way::Down;
        Self {
            end: Some(End {
                way,
                after,
                seed,
                how,
            }),
            ..Self::default()
        }
    }

    /// An idle connection is reset by the next request on it, before the endpoint sees a byte.
    #[must_use]
    pub fn reset_idle() -> Self {
        Self {
            reset_idle: true,
            ..Self::default()
        }
    }
}

impl End {
    /// After how many bytes this connection ends.
    pub(super) fn after(&self, connection: u64) -> u64 {
        let length = self.after.end.saturating_sub(self.after.start).max(1);
        self.after.start + mixed(self.seed, connection) % length
    }
}

/// A number that looks random, the same for the same two (splitmix64).
fn mixed(seed: u64, number: u64) -> u64 {
    let mut z = seed ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
