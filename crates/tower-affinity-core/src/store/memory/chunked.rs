//! A list that grows by chunks: growing moves nothing and wastes less than one chunk.

use std::num::NonZeroU16;

const BITS: u32 = 9;
const CHUNK: usize = 1 << BITS;

/// The place of an item in a [`Chunked`]: of 65,535 at most. An `Option` of it is no larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Number(NonZeroU16);

/// A list whose items are found by number and never move.
#[derive(Debug)]
pub(super) struct Chunked<T> {
    chunks: Vec<Vec<T>>,
    len: u16,
}

impl<T> Chunked<T> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            len: 0,
        }
    }

    /// Appends an item and answers its number.
    pub(super) fn push(&mut self, item: T) -> Number {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(item),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
        let number = Number(NonZeroU16::MIN.saturating_add(self.len));
        self.len += 1;
        number
    }

    /// Whether an item has this number.
    pub(super) const fn has(&self, number: Number) -> bool {
        number.index() < self.len as usize
    }

    #[expect(clippy::indexing_slicing, reason = "numbers are those of `push`")]
    pub(super) fn get(&self, number: Number) -> &T {
        &self.chunks[number.index() >> BITS][number.index() % CHUNK]
    }

    #[expect(clippy::indexing_slicing, reason = "numbers are those of `push`")]
    pub(super) fn get_mut(&mut self, number: Number) -> &mut T {
        &mut self.chunks[number.index() >> BITS][number.index() % CHUNK]
    }
}

impl Number {
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_by_their_numbers_over_all_chunks() {
        let mut list = Chunked::new();
        let numbers: Vec<Number> = (0..3 * CHUNK + 1).map(|item| list.push(item)).collect();
        for (item, number) in numbers.iter().enumerate() {
            assert_eq!(*list.get(*number), item);
        }
        assert_eq!(list.chunks.len(), 4);
        assert!(list.chunks.iter().all(|chunk| chunk.capacity() == CHUNK));
        assert_eq!(size_of::<Option<Number>>(), 2);
    }
}
