//! The timer wheel of a shard: which rows have ended, and which ends next.
//!
//! A row is filed under the second in which it ends, or, if that is too far ahead, under the last
//! second that the wheel reaches. One that is refreshed stays where it is filed, which costs no look
//! at its neighbours; whoever comes to that second files it again. So no row is found later than it
//! ends, wherever the clock steps. The rows of one slot are linked both ways: one that is removed
//! leaves at once.

use super::chunked::{Chunked, Number};
use super::slots::{SLOTS, Slots};

/// The last second that a wheel can file under.
pub(super) const LAST: u32 = u32::MAX - SLOTS;

/// The rows of a shard by their ends.
#[derive(Debug)]
pub(super) struct Wheel {
    links: Chunked<Link>,
    slots: Slots,
    /// No row is filed under this second or an earlier one.
    reached: u32,
    filed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: Before,
    next: Option<Number>,
}

#[derive(Clone, Copy, Debug)]
enum Before {
    Row(Number),
    /// It is the first one of this slot.
    Slot(u16),
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            links: Chunked::new(),
            slots: Slots::new(),
            reached: 0,
            filed: 0,
        }
    }

    /// Files a row that ends after `now`, in the second `ends`. Whether that second was reached
    /// already, because a clock has stepped: whoever has swept up to it has to again.
    pub(super) fn file(&mut self, row: Number, ends: u32, now: u32) -> bool {
        if self.filed == 0 {
            self.reached = self.reached.max(now);
        }
        let again = ends <= self.reached;
        if again {
            self.reached = ends.saturating_sub(1);
        }
        self.filed += 1;
        self.link(row, ends);
        again
    }

    /// Takes a row out that is filed.
    pub(super) fn take(&mut self, row: Number) {
        self.filed -= 1;
        self.unlink(row);
    }

    /// Takes out a row that has ended by `now`. `None` if there is none, or if `looks`, at how many
    /// rows may be looked, is used up.
    pub(super) fn take_ended(
        &mut self,
        now: u32,
        looks: &mut u32,
        ends: impl Fn(Number) -> u32,
    ) -> Option<Number> {
        // the last seconds share their slots with all before
        self.reached = self.reached.max(now.saturating_sub(SLOTS));
        while let Some(second) = self.slots.next_after(self.reached) {
            if second > now {
                break;
            }
            *looks = looks.checked_sub(1)?;
            let row = self.look(second)?;
            let end = ends(row);
            if end <= now {
                self.take(row);
                return Some(row);
            }
            self.unlink(row);
            self.link(row, end);
        }
        self.reached = self.reached.max(now);
        None
    }

    /// The row that ends next: of those that were looked at, if `looks` is used up.
    pub(super) fn nearest(&mut self, looks: u32, ends: impl Fn(Number) -> u32) -> Option<Number> {
        let mut nearest: Option<(u32, Number)> = None;
        for _ in 0..looks {
            let second = self.slots.next_after(self.reached)?;
            let row = self.look(second)?;
            let end = ends(row);
            if end <= second {
                return Some(row);
            }
            nearest = Some(nearest.map_or((end, row), |best| best.min((end, row))));
            self.unlink(row);
            self.link(row, end);
        }
        nearest.map(|(_, row)| row)
    }

    /// The first row under `second`, before which none is filed. If it is linked again now, it goes
    /// to another slot: that of `second` is as far ahead as none can be filed.
    fn look(&mut self, second: u32) -> Option<Number> {
        self.reached = second - 1;
        self.slots.first(second)
    }

    fn link(&mut self, row: Number, ends: u32) {
        let second = ends.min(self.reached + SLOTS);
        let next = self.slots.first(second);
        self.slots.set_first(second, Some(row));
        if let Some(next) = next {
            self.links.get_mut(next).before = Before::Row(row);
        }
        let before = Before::Slot((second % SLOTS) as u16);
        let link = Link { before, next };
        if self.links.has(row) {
            *self.links.get_mut(row) = link;
        } else {
            self.links.push(link);
        }
    }

    fn unlink(&mut self, row: Number) {
        let Link { before, next, .. } = *self.links.get(row);
        if let Some(next) = next {
            self.links.get_mut(next).before = before;
        }
        match before {
            Before::Row(before) => self.links.get_mut(before).next = next,
            Before::Slot(slot) => self.slots.set_first(slot.into(), next),
        }
    }
}
