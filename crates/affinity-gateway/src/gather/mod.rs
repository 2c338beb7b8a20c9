//! Small writes of one thread that go out one right after the other.
//!
//! A write to a peer that sleeps has the kernel wake it, on another core as a rule, and that costs
//! more than the write itself. Where a thread serves many connections it writes, works on the next
//! request, writes again: each write finds a peer that has dealt with the one before and sleeps again.
//! Gathered, the first write wakes the peer and the others find it awake.
//!
//! ```text
//! poll_write ──> Outgoing ──> due ──(32 are due, or all tasks that were ready have run)──> socket
//! ```
//!
//! A write waits for what is ready to run on its thread, and for nothing else: no timer is involved.
//! Only the threads of workers gather, each for itself; anywhere else a write goes out at once.

mod outgoing;
mod stream;

#[cfg(test)]
mod tests;

use std::{
    cell::RefCell,
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use self::outgoing::Outgoing;
pub(crate) use self::stream::Gathered;

/// So many are due at most. Fewer wake peers more often (8 cost a tenth more processor time, at
/// saturation); more let the first one wait for what the others take to be made.
const MOST: usize = 32;

thread_local! {
    static TURN: RefCell<Turn> = const { RefCell::new(Turn::new()) };
}

/// What is due on a thread.
struct Turn {
    due: Vec<Arc<Outgoing>>,
    /// That of the task which writes; none where nobody gathers.
    writer: Option<Waker>,
    /// Kept from one write to the next, so that a connection that waits holds no memory.
    spare: Vec<Vec<u8>>,
}

impl Turn {
    const fn new() -> Self {
        Self {
            due: Vec::new(),
            writer: None,
            spare: Vec::new(),
        }
    }
}

/// Gathers the writes on the present thread; to be spawned on its only runtime. Never ends.
pub(crate) async fn run() {
    let _ends = Ends;
    poll_fn(|cx| {
        TURN.with_borrow_mut(|turn| match &mut turn.writer {
            Some(writer) => writer.clone_from(cx.waker()),
            None => turn.writer = Some(cx.waker().clone()),
        });
        write_due();
        Poll::<()>::Pending
    })
    .await;
}

/// Nobody gathers any more.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        TURN.with_borrow_mut(|turn| turn.writer = None);
        write_due();
    }
}

/// Whether the present thread gathers.
fn is_gathering() -> bool {
    TURN.with_borrow(|turn| turn.writer.is_some())
}

/// Room for a write.
fn room() -> Vec<u8> {
    TURN.with_borrow_mut(|turn| turn.spare.pop())
        .unwrap_or_else(|| Vec::with_capacity(outgoing::MOST_BYTES))
}

/// Takes back what [`room`] gave.
fn give_back(mut room: Vec<u8>) {
    room.clear();
    TURN.with_borrow_mut(|turn| {
        if turn.spare.len() < MOST {
            turn.spare.push(room);
        }
    });
}

/// Has `outgoing` written before long.
fn put(outgoing: Arc<Outgoing>) {
    let is_much = TURN.with_borrow_mut(|turn| {
        turn.due.push(outgoing);
        if turn.due.len() == 1
            && let Some(writer) = &turn.writer
        {
            // it runs after all that is ready now
            writer.wake_by_ref();
        }
        turn.due.len() >= MOST
    });
    if is_much {
        write_due();
    }
}

fn write_due() {
    let mut due = TURN.with_borrow_mut(|turn| std::mem::take(&mut turn.due));
    for outgoing in due.drain(..) {
        outgoing.write();
    }
    TURN.with_borrow_mut(|turn| {
        if turn.due.is_empty() {
            turn.due = due;
        }
    });
}
