//! Tokens whose signature was verified before.

use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// How many verified tokens a codec remembers by default: 512 KiB.
///
/// A session shows the same token until a quarter of its idle lifetime is used, so that the sessions
/// of the last minutes are worth remembering, and not those of all day. With more of them the oldest
/// ones are verified again, which is what happens without a memory.
pub(super) const VERIFIED: usize = 16_384;

/// The most that a codec can be told to remember: 32 MiB.
const MOST: usize = 1 << 20;

/// How many tokens can push each other out. A power of two.
const WAYS: usize = 8;

/// The SHA-256 of a whole token, header, claims and signature.
pub(super) type TokenDigest = [u8; 32];

/// Which tokens the keys of one codec have verified; of the tokens themselves nothing is kept.
///
/// A token is found by a digest of all its bytes, so that one of which a bit differs is another
/// token. How long a comparison takes can tell something of a digest that is here, and nobody can
/// make a token from that: it would be a preimage. Nothing but a signature that was verified brings
/// a token in, so that whoever cannot sign can neither poison nor fill it. Who can have many pins
/// issued can push others out: then these are verified as if there were no memory.
///
/// Each set of places has a lock of its own, which is held for a few comparisons.
pub(super) struct Verified {
    sets: Box<[Mutex<Set>]>,
}

/// The token that was shown last comes first; nothing is verified that has the digest 0.
type Set = [TokenDigest; WAYS];

impl Verified {
    /// Room for so many tokens, rounded up to a power of two and at most [`MOST`]; `None` for 0.
    pub(super) fn new(tokens: usize) -> Option<Self> {
        let sets = tokens.min(MOST).div_ceil(WAYS).next_power_of_two();
        let set = || Mutex::new([TokenDigest::default(); WAYS]);
        (tokens > 0).then(|| Self {
            sets: (0..sets).map(|_| set()).collect(),
        })
    }

    pub(super) fn digest(token: &[u8]) -> TokenDigest {
        Sha256::digest(token).into()
    }

    /// Whether the token was verified.
    pub(super) fn has(&self, token: &TokenDigest) -> bool {
        self.with(token, |set| {
            let found = set.iter().position(|known| known == token);
            if let Some(recent) = found.and_then(|at| set.get_mut(..=at)) {
                recent.rotate_right(1);
            }
            found.is_some()
        })
    }

    /// Takes in a token that was verified, in place of the one of its set that was shown longest ago.
    pub(super) fn insert(&self, token: TokenDigest) {
        self.with(&token, |set| {
            // another thread may have verified it at the same time
            if !set.contains(&token) {
                set.rotate_right(1);
                set[0] = token;
            }
        });
    }

    fn with<T: Default>(&self, token: &TokenDigest, act: impl FnOnce(&mut Set) -> T) -> T {
        let number = token
            .first_chunk()
            .map_or(0, |bytes| u32::from_le_bytes(*bytes));
        match self.sets.get(number as usize & (self.sets.len() - 1)) {
            // nothing in here can panic
            Some(set) => act(&mut set.lock().unwrap_or_else(PoisonError::into_inner)),
            None => T::default(),
        }
    }
}

impl std::fmt::Debug for Verified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verified")
            .field("room", &(self.sets.len() * WAYS))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn token(number: u64) -> TokenDigest {
        Verified::digest(&number.to_be_bytes())
    }

    #[test]
    fn room_is_bounded_and_what_is_shown_again_stays() {
        let verified = Verified::new(64).unwrap();
        verified.insert(token(0));
        for number in 1..10_000 {
            verified.insert(token(number));
            assert!(verified.has(&token(number)), "{number} was just verified");
            assert!(verified.has(&token(0)), "0 was shown before {number} came");
        }
        let held = (0..10_000).filter(|n| verified.has(&token(*n))).count();
        assert_eq!(held, 64, "all places are taken, and there are no more");
    }

    #[test]
    fn a_token_is_held_once() {
        let verified = Verified::new(WAYS).unwrap();
        (0..100).for_each(|_| verified.insert(token(1)));
        (2..=8).for_each(|number| verified.insert(token(number)));
        assert!((1..=8).all(|number| verified.has(&token(number))));
    }

    #[test]
    fn no_room_is_no_memory() {
        assert!(Verified::new(0).is_none());
        let empty = Verified::new(1).unwrap();
        assert!(!empty.has(&token(1)));
    }
}
