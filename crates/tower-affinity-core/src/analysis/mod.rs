//! Whether a canary is better or worse than the stable group, judged by sessions.
//!
//! Pinned sessions stay where they began, so the requests of two groups come from two populations:
//! the stable group keeps all those who were there before. Only sessions that were dealt by the
//! same draw since the step can be compared; a [`Tally`] counts them.

mod tally;

pub use self::tally::Tally;
