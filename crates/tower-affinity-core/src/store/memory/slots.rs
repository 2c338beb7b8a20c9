//! The slots of a timer wheel: one list of rows a second, and a bit for those that are not empty.

use super::chunked::Number;

/// How many seconds ahead a row is filed exactly.
pub(super) const SLOTS: u32 = 2048;

const WORDS: u32 = SLOTS / u64::BITS;

/// The first row of each slot. Seconds that are `SLOTS` apart share one.
#[derive(Debug)]
pub(super) struct Slots {
    first: Box<[Option<Number>]>,
    occupied: [u64; WORDS as usize],
}

impl Slots {
    pub(super) fn new() -> Self {
        Self {
            first: vec![None; SLOTS as usize].into(),
            occupied: [0; WORDS as usize],
        }
    }

    #[expect(clippy::indexing_slicing, reason = "a remainder is within the length")]
    pub(super) fn first(&self, second: u32) -> Option<Number> {
        self.first[(second % SLOTS) as usize]
    }

    #[expect(clippy::indexing_slicing, reason = "a remainder is within the length")]
    pub(super) fn set_first(&mut self, second: u32, row: Option<Number>) {
        let slot = second % SLOTS;
        self.first[slot as usize] = row;
        let word = &mut self.occupied[(slot / u64::BITS) as usize];
        let bit = 1 << (slot % u64::BITS);
        *word = if row.is_some() {
            *word | bit
        } else {
            *word & !bit
        };
    }

    /// The first second after `reached` whose slot is not empty, of the next [`SLOTS`].
    pub(super) fn next_after(&self, reached: u32) -> Option<u32> {
        let from = reached + 1;
        let (word, bit) = (from % SLOTS / u64::BITS, from % u64::BITS);
        // the first word is looked at twice: from the bit on, and at the end before it
        (0..=WORDS).find_map(|nth| {
            let seen = match nth {
                0 => u64::MAX << bit,
                WORDS => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            let occupied = self.word(word + nth) & seen;
            (occupied != 0).then(|| from + (nth * u64::BITS + occupied.trailing_zeros() - bit))
        })
    }

    #[expect(clippy::indexing_slicing, reason = "a remainder is within the length")]
    fn word(&self, word: u32) -> u64 {
        self.occupied[(word % WORDS) as usize]
    }
}
