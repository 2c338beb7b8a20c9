//! How long a connection is kept: without requests, and after the word to end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::sync::futures::Notified;
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep, sleep};

use super::activity::Activity;
use super::ended::EndCause;
use super::ending::{Ending, Word};
use super::framing::Gate;

/// How long a connection may do what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans {
    /// Silence between two requests on HTTP/1.1.
    pub(super) keep_alive: Duration,
    /// Silence on HTTP/1.1 once the connection is to end.
    pub(super) linger: Duration,
    /// No request on HTTP/2.
    pub(super) h2_idle: Duration,
    /// Taking leave, for a client that was idle.
    pub(super) leave: Duration,
}

/// What is to be done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Tell the client that it ends, finish what runs.
    Close,
    /// Drop it.
    End(EndCause),
}

pin_project! {
    /// Tells when a connection is to end.
    ///
    /// It is asked with every step of its connection, so an answer costs a few reads as long as
    /// nothing is due: one timer serves all deadlines, and is set again only when it has gone off
    /// or a deadline is before it; and it is asked only where it can tell something new.
    pub(super) struct Lifetime<'e> {
        activity: Activity,
        gate: Gate,
        spans: Spans,
        stage: Stage,
        ending: &'e Ending,
        said: Word,
        #[pin]
        changed: Notified<'e>,
        #[pin]
        alarm: Sleep,
        // when the alarm goes off
        set: Option<Instant>,
        // who is woken by a word and the alarm
        waker: Option<Waker>,
    }
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The first bytes, for which its stream has a timer.
    New,
    /// Requests on HTTP/1.1: while there is none, since so many moves and until when.
    Kept(Option<(u64, Instant)>),
    /// Requests on HTTP/2: a look at the time `due` ends it if there was none since so many turns.
    Shared { turns: u64, due: Instant },
    /// A last request: a look at the time `due` ends it if nothing came since so many moves.
    Lingering { moves: u64, due: Instant },
    /// The end of what runs.
    Closing,
    /// The end of a connection that was idle.
    Leaving { due: Instant },
}

impl<'e> Lifetime<'e> {
    pub(super) fn new(activity: Activity, gate: Gate, spans: Spans, ending: &'e Ending) -> Self {
        Self {
            activity,
            gate,
            spans,
            stage: Stage::New,
            ending,
            said: Word::Serve,
            changed: ending.changed(),
            alarm: sleep(spans.keep_alive),
            set: None,
            waker: None,
        }
    }

    /// HTTP/1.1 is spoken. On it only an answer says that it was the last one, so a connection that
    /// is to end without any is closed once it has been silent for so long that no request can be
    /// under way.
    pub(super) fn http1(self: Pin<&mut Self>) {
        let this = self.project();
        if matches!(this.stage, Stage::New) {
            *this.stage = Stage::Kept(None);
        }
    }

    /// HTTP/2 is spoken. It has a frame that says which requests still count.
    pub(super) fn http2(self: Pin<&mut Self>) {
        let this = self.project();
        *this.stage = match this.said {
            Word::Serve => Stage::Shared {
                turns: this.activity.turns(),
                due: Instant::now() + this.spans.h2_idle,
            },
            // told at the next look
            _ => Stage::Lingering {
                moves: this.activity.moves(),
                due: Instant::now(),
            },
        };
    }

    /// Whether the connection was closed because it was idle.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving { .. })
    }

    /// What is to be done now; it is asked again after a [`Order::Close`].
    pub(super) fn poll_order(mut self: Pin<&mut Self>, cx: &Context<'_>) -> Poll<Order> {
        let known = self.waker.as_ref();
        let other = !known.is_some_and(|known| known.will_wake(cx.waker()));
        if other {
            *self.as_mut().project().waker = Some(cx.waker().clone());
        }
        if let Some(order) = self.as_mut().hear(other) {
            return Poll::Ready(order);
        }
        while let Some(due) = self.as_mut().due() {
            self.as_mut().set(due, other);
            if !self.alarm.is_elapsed() {
                break;
            }
            *self.as_mut().project().set = None;
            // it may have been set for what is no longer waited for
            if let Some(order) = self.as_mut().look(due) {
                return Poll::Ready(order);
            }
        }
        Poll::Pending
    }

    /// Listens to the word; `other`: for another task than before.
    fn hear(mut self: Pin<&mut Self>, other: bool) -> Option<Order> {
        if other || self.ending.word() != self.said {
            let mut this = self.as_mut().project();
            // before the look: what is said after it wakes this task
            this.changed.set(this.ending.changed());
            wake_for(this.changed, this.waker.as_ref());
        }
        let this = self.project();
        let word = this.ending.word();
        if word == std::mem::replace(this.said, word) {
            return None;
        }
        match (word, &this.stage) {
            (Word::Serve, _) => None,
            (Word::Cut, _) => Some(Order::End(EndCause::Cut)),
            (Word::Finish, Stage::Shared { .. }) => {
                *this.stage = Stage::Closing;
                Some(Order::Close)
            }
            (Word::Finish, Stage::New | Stage::Kept(_)) => {
                *this.stage = Stage::Lingering {
                    moves: this.activity.moves(),
                    due: Instant::now() + this.spans.linger,
                };
                None
            }
            (Word::Finish, _) => None,
        }
    }

    /// When there is something to look at.
    fn due(self: Pin<&mut Self>) -> Option<Instant> {
        let this = self.project();
        match this.stage {
            Stage::New | Stage::Closing => None,
            Stage::Kept(silent) => {
                if this.activity.is_busy() || !this.gate.is_between() {
                    *silent = None;
                    return None;
                }
                let moves = this.activity.moves();
                let (_, due) = match silent {
                    Some(silent) if silent.0 == moves => *silent,
                    _ => *silent.insert((moves, Instant::now() + this.spans.keep_alive)),
                };
                Some(due)
            }
            Stage::Shared { due, .. } | Stage::Lingering { due, .. } | Stage::Leaving { due } => {
                Some(*due)
            }
        }
    }

    /// Sees to it that the alarm does not go off after `due`.
    fn set(self: Pin<&mut Self>, due: Instant, other: bool) {
        let mut this = self.project();
        let late = this.set.is_none_or(|set| due < set);
        if late {
            this.alarm.as_mut().reset(due);
            *this.set = Some(due);
        }
        if late || other {
            wake_for(this.alarm, this.waker.as_ref());
        }
    }

    /// The alarm has gone off, and `due` may have come.
    fn look(self: Pin<&mut Self>, due: Instant) -> Option<Order> {
        let now = Instant::now();
        if now < due {
            return None;
        }
        let this = self.project();
        let (activity, spans) = (this.activity, this.spans);
        match this.stage {
            Stage::New | Stage::Closing => None,
            Stage::Kept(_) => Some(Order::End(EndCause::HeaderTimeout)),
            Stage::Shared { turns, due } => {
                let before = std::mem::replace(turns, activity.turns());
                *due = now + spans.h2_idle;
                (!activity.is_busy() && before == *turns).then(|| {
                    // what a client does not take then was never to be taken
                    let due = now + spans.leave;
                    *this.stage = Stage::Leaving { due };
                    Order::Close
                })
            }
            Stage::Lingering { moves, due } => {
                let before = std::mem::replace(moves, activity.moves());
                *due = now + spans.linger;
                (!activity.is_busy() && before == *moves).then(|| {
                    *this.stage = Stage::Closing;
                    Order::Close
                })
            }
            Stage::Leaving { .. } => Some(Order::End(EndCause::Idle)),
        }
    }
}

/// Has `waker` woken when `future` ends. Without regard to the budget of the task: a future that was
/// not asked for that reason would be taken for one that was.
fn wake_for<F: Future>(future: Pin<&mut F>, waker: Option<&Waker>) {
    if let Some(waker) = waker {
        let mut future = std::pin::pin!(unconstrained(future));
        // whether it has ended is seen elsewhere
        let _ended = future.as_mut().poll(&mut Context::from_waker(waker));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::{advance, timeout};

    use super::*;
    use crate::serve::activity::InFlight;

    const SPANS: Spans = Spans {
        keep_alive: Duration::from_secs(75),
        linger: Duration::from_secs(2),
        h2_idle: Duration::from_secs(300),
        leave: Duration::from_secs(30),
    };

    /// A connection between two requests.
    #[derive(Default)]
    struct Kept {
        activity: Activity,
        gate: Gate,
        ending: Ending,
    }

    impl Kept {
        fn new() -> Self {
            let kept = Self::default();
            kept.gate.set_between(true);
            kept
        }

        fn lifetime(&self) -> Lifetime<'_> {
            let (activity, gate) = (self.activity.clone(), self.gate.clone());
            Lifetime::new(activity, gate, SPANS, &self.ending)
        }

        fn request(&self) -> InFlight {
            self.activity.heard();
            self.activity.begin()
        }
    }

    async fn order(lifetime: Pin<&mut Lifetime<'_>>) -> Order {
        let mut lifetime = lifetime;
        std::future::poll_fn(|cx| lifetime.as_mut().poll_order(cx)).await
    }

    /// Whether there is no order within so many seconds.
    async fn is_kept(lifetime: Pin<&mut Lifetime<'_>>, seconds: u64) -> bool {
        let within = Duration::from_secs(seconds);
        timeout(within, order(lifetime)).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn silence_on_http_1_counts_from_the_end_of_the_last_answer() {
        let kept = Kept::new();
        let mut lifetime = pin!(kept.lifetime());
        lifetime.as_mut().http1();
        assert!(is_kept(lifetime.as_mut(), 70).await);
        let request = kept.request();
        assert!(is_kept(lifetime.as_mut(), 700).await, "an answer is slow");
        drop(request);
        assert!(is_kept(lifetime.as_mut(), 74).await, "too early");
        let order = timeout(Duration::from_secs(2), order(lifetime)).await;
        assert_eq!(order, Ok(Order::End(EndCause::HeaderTimeout)));
    }

    /// The stream has a timer for it.
    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_is_no_silence() {
        let kept = Kept::new();
        let mut lifetime = pin!(kept.lifetime());
        lifetime.as_mut().http1();
        assert!(is_kept(lifetime.as_mut(), 70).await);
        kept.gate.set_between(false);
        assert!(is_kept(lifetime.as_mut(), 700).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_still_goes_out_is_no_silence() {
        let kept = Kept::new();
        let mut lifetime = pin!(kept.lifetime());
        lifetime.as_mut().http1();
        kept.activity.wait(true);
        assert!(is_kept(lifetime.as_mut(), 700).await);
        kept.activity.wait(false);
        assert!(is_kept(lifetime.as_mut(), 74).await, "too early");
        assert!(!is_kept(lifetime.as_mut(), 2).await, "for ever");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_of_http_2_with_a_request_is_not_idle() {
        let kept = Kept::new();
        let mut lifetime = pin!(kept.lifetime());
        lifetime.as_mut().http2();
        let request = kept.request();
        assert!(is_kept(lifetime.as_mut(), 3_000).await);
        drop(request);
        assert!(is_kept(lifetime.as_mut(), 299).await, "too early");
        let close = timeout(SPANS.h2_idle * 2, order(lifetime.as_mut())).await;
        assert_eq!(close, Ok(Order::Close));
        assert!(lifetime.is_leaving());
        let end = timeout(SPANS.leave * 2, order(lifetime)).await;
        assert_eq!(end, Ok(Order::End(EndCause::Idle)));
    }

    #[tokio::test(start_paused = true)]
    async fn http_2_is_told_at_once_that_it_ends_and_http_1_after_a_silence() {
        for http2 in [true, false] {
            let kept = Kept::new();
            let mut lifetime = pin!(kept.lifetime());
            match http2 {
                true => lifetime.as_mut().http2(),
                false => lifetime.as_mut().http1(),
            }
            let _request = http2.then(|| kept.request());
            assert!(is_kept(lifetime.as_mut(), 1).await);
            kept.ending.finish();
            assert_eq!(!is_kept(lifetime.as_mut(), 1).await, http2);
            if !http2 {
                kept.activity.heard();
                assert!(is_kept(lifetime.as_mut(), 2).await, "it was not silent");
                assert!(!is_kept(lifetime.as_mut(), 2).await, "for ever");
            }
            assert!(is_kept(lifetime.as_mut(), 700).await, "told twice");
            kept.ending.cut();
            let cut = order(lifetime).await;
            assert_eq!(cut, Order::End(EndCause::Cut));
        }
    }

    /// A word is heard by whoever waits now, though it was another task at first.
    #[tokio::test(start_paused = true)]
    async fn another_task_is_woken_as_well() {
        let kept = Kept::new();
        let mut lifetime = pin!(kept.lifetime());
        lifetime.as_mut().http1();
        {
            let poll = std::future::poll_fn(|cx| lifetime.as_mut().poll_order(cx));
            assert!(tokio_test::task::spawn(poll).poll().is_pending());
        }
        let poll = std::future::poll_fn(|cx| lifetime.as_mut().poll_order(cx));
        let mut other = tokio_test::task::spawn(poll);
        assert!(other.poll().is_pending());
        advance(SPANS.keep_alive * 2).await;
        assert!(other.is_woken(), "the alarm woke the former task");
        assert!(other.poll().is_ready());
    }
}
