//! [`Sketch`]: how many sessions there are, in a form whose union counts each of them once.
//!
//! A bitmap by hash on four levels that take all sessions, a quarter of them, a sixteenth and a
//! 64th. The first level that is not full tells how many there are (linear counting). Session ids
//! are random and signed by us, so they are hashes already.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::SessionId;

/// Each level takes one in `1 << SHIFT` of the sessions of the level before.
const SHIFT: u32 = 2;

/// How full a level may be: counting is more exact on the next one from there on.
const FULL: f64 = 0.92;

const BYTES: usize = Sketch::SLOTS / 8;

/// Which sessions there are, to about 2 % of their number (5 % at most up to a million).
#[derive(Clone, PartialEq, Eq)]
pub struct Sketch {
    /// A bit for each slot, level by level.
    levels: [[u8; BYTES]; Self::LEVELS],
}

impl Sketch {
    /// Slots of one level.
    pub const SLOTS: usize = 8_000;

    /// How many levels there are.
    pub const LEVELS: usize = 4;

    /// The slot of a session, the same on each level, and how many levels take it, at least 1.
    #[must_use]
    pub fn place(session: SessionId) -> (usize, usize) {
        let bits = session.bits();
        let slot = usize::try_from((bits >> 64) % Self::SLOTS as u128).unwrap_or_default();
        let deepest = (bits as u64).trailing_zeros() / SHIFT;
        (slot, Self::LEVELS.min(deepest as usize + 1))
    }

    /// The sketch that has these slots of each level.
    #[must_use]
    pub fn of<Slots: IntoIterator<Item = usize>>(levels: impl IntoIterator<Item = Slots>) -> Self {
        let mut sketch = Self::default();
        for (bits, slots) in sketch.levels.iter_mut().zip(levels) {
            slots.into_iter().for_each(|slot| set(bits, slot));
        }
        sketch
    }

    /// Takes in a session.
    pub fn insert(&mut self, session: SessionId) {
        let (slot, levels) = Self::place(session);
        let levels = self.levels.iter_mut().take(levels);
        levels.for_each(|bits| set(bits, slot));
    }

    /// Takes in the sessions of another sketch; those that both have count once.
    pub fn merge(&mut self, other: &Self) {
        let ours = self.levels.as_flattened_mut().iter_mut();
        for (ours, theirs) in ours.zip(other.levels.as_flattened()) {
            *ours |= theirs;
        }
    }

    /// How many sessions there are.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.count_without(&Self::default())
    }

    /// How many sessions there are besides those of `some`, all of which are here as well.
    ///
    /// Of the slots that `some` leaves free, each that is in use here tells of another session. So
    /// both are looked at on the same level, and what they have in common cancels out.
    #[must_use]
    pub fn count_without(&self, some: &Self) -> f64 {
        let mut scale = 1.0;
        let mut count = 0.0;
        for (bits, some) in self.levels.iter().zip(&some.levels) {
            let free = (Self::SLOTS - used(bits)).max(1) as f64;
            let before = Self::SLOTS - common(bits, some);
            count = scale * Self::SLOTS as f64 * (before as f64 / free).max(1.0).ln();
            if !is_full(bits) {
                break;
            }
            scale *= f64::from(1_u32 << SHIFT);
        }
        count
    }

    /// The sketch as base64: a few symbols while there are few sessions, at most 4,450.
    ///
    /// A full level is left out but for the word that it is full: that is true of every union with
    /// it, which is counted on a later level.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        for (nth, bits) in self.levels.iter().enumerate() {
            let gaps = gaps(bits);
            if is_full(bits) && nth + 1 < Self::LEVELS {
                bytes.push(ALL);
            } else if gaps.len() < BYTES {
                bytes.push(GAPS);
                bytes.extend(gaps);
            } else {
                bytes.push(BITS);
                bytes.extend(bits);
            }
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads what [`Sketch::to_text`] has written; `None` if it is something else.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let mut rest = bytes.as_slice();
        let mut sketch = Self::default();
        for bits in &mut sketch.levels {
            let (kind, after) = rest.split_first()?;
            rest = after;
            match *kind {
                ALL => bits.fill(u8::MAX),
                BITS => {
                    let (ours, after) = rest.split_first_chunk()?;
                    *bits = *ours;
                    rest = after;
                }
                GAPS => rest = fill(bits, rest)?,
                _ => return None,
            }
        }
        rest.is_empty().then_some(sketch)
    }
}

/// A level of which only that it is full is said.
const ALL: u8 = 0;

/// A level bit by bit.
const BITS: u8 = 1;

/// A level by the distances from one slot in use to the next, 0 at its end.
const GAPS: u8 = 2;

/// More than the longest text: each level takes a byte for its kind and its bits.
const MAX_TEXT: usize = Sketch::LEVELS * (BYTES + 1) * 4 / 3 + 4;

fn set(bits: &mut [u8; BYTES], slot: usize) {
    if let Some(byte) = bits.get_mut(slot / 8) {
        *byte |= 1 << (slot % 8);
    }
}

fn used(bits: &[u8; BYTES]) -> usize {
    bits.iter().map(|byte| byte.count_ones() as usize).sum()
}

fn common(bits: &[u8; BYTES], others: &[u8; BYTES]) -> usize {
    let bytes = bits.iter().zip(others);
    bytes.map(|(a, b)| (a & b).count_ones() as usize).sum()
}

fn is_full(bits: &[u8; BYTES]) -> bool {
    used(bits) as f64 / Sketch::SLOTS as f64 > FULL
}

/// Distances are at least 1: seven bits in a byte, the lowest first, the eighth if more follow.
fn gaps(bits: &[u8; BYTES]) -> Vec<u8> {
    let mut gaps = Vec::new();
    let mut gap = 0_usize;
    for byte in bits {
        for bit in 0..8 {
            gap += 1;
            if byte >> bit & 1 == 1 {
                while gap > 0x7f {
                    gaps.push((gap & 0x7f) as u8 | 0x80);
                    gap >>= 7;
                }
                gaps.push(gap as u8);
                gap = 0;
            }
        }
    }
    gaps.push(0);
    gaps
}

/// Sets what [`gaps`] tells, and answers what comes after it.
fn fill<'a>(bits: &mut [u8; BYTES], mut rest: &'a [u8]) -> Option<&'a [u8]> {
    // where the next distance is counted from: one before the first slot
    let mut upto = 0_usize;
    loop {
        let mut gap = 0_usize;
        for shift in [0, 7] {
            let (byte, after) = rest.split_first()?;
            rest = after;
            gap |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            if shift == 7 {
                return None;
            }
        }
        if gap == 0 {
            return Some(rest);
        }
        upto += gap;
        if upto > Sketch::SLOTS {
            return None;
        }
        set(bits, upto - 1);
    }
}

impl Default for Sketch {
    /// No session.
    fn default() -> Self {
        Self {
            levels: [[0; BYTES]; Self::LEVELS],
        }
    }
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sketch")
            .field("count", &self.count().round())
            .finish_non_exhaustive()
    }
}
