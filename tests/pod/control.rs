//! Orders, one a line on stdin, and SIGTERM.
//!
//! | order | from now on |
//! | --- | --- |
//! | `status N` | every request is answered with that status; 200 at the start |
//! | `health on`, `health off` | `/livez` answers 200 or 503 |
//! | `pause MS` | every answer takes so long |
//! | `workers N MS` | N requests are worked on at a time, each for so long; others wait in line. 0: no bound |
//! | `release` | what is held at `/hold` is answered |
//! | `leave` | as SIGTERM: takes no new connection, serves those that it has, and asks for their end |
//! | `end` | the process ends once nothing is in flight |
//!
//! The end of the orders ends the process at once.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

/// What orders change; a cheap handle.
#[derive(Clone, Debug)]
pub(crate) struct Switches(Arc<State>);

#[derive(Debug)]
struct State {
    status: AtomicU16,
    healthy: AtomicBool,
    pause: AtomicU64,
    workers: Mutex<Option<Workers>>,
    in_flight: AtomicUsize,
    released: watch::Sender<bool>,
    leaving: watch::Sender<bool>,
}

impl Switches {
    pub(crate) fn new() -> Self {
        Self(Arc::new(State {
            status: AtomicU16::new(200),
            healthy: AtomicBool::new(true),
            pause: AtomicU64::new(0),
            workers: Mutex::new(None),
            in_flight: AtomicUsize::new(0),
            released: watch::Sender::new(false),
            leaving: watch::Sender::new(false),
        }))
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status.load(Ordering::Relaxed)).expect("a status")
    }

    pub(crate) fn is_healthy(&self) -> bool {
        self.0.healthy.load(Ordering::Relaxed)
    }

    pub(crate) fn pause(&self) -> Duration {
        Duration::from_millis(self.0.pause.load(Ordering::Relaxed))
    }

    /// Waits for a worker, and for its work.
    pub(crate) async fn work(&self) {
        let workers = self.0.workers.lock().expect("nobody panicked").clone();
        if let Some(Workers { free, span }) = workers {
            let _worker = free.acquire().await.expect("workers are never closed");
            sleep(span).await;
        }
    }

    pub(crate) fn is_leaving(&self) -> bool {
        *self.0.leaving.borrow()
    }

    /// Waits until the process is asked to leave.
    pub(crate) async fn left(&self) {
        wait(&self.0.leaving).await;
    }

    /// Waits until what is held may go on.
    pub(crate) async fn released(&self) {
        wait(&self.0.released).await;
    }

    /// One more request is in flight until the answer is dropped.
    pub(crate) fn enter(&self) -> InFlight {
        self.0.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self.clone())
    }

    async fn obey(&self, order: &str) -> bool {
        let mut words = order.split_whitespace();
        let number =
            |word: Option<&str>| word.and_then(|n| n.parse::<u64>().ok()).expect("a number");
        match words.next().expect("an order") {
            "status" => {
                let status = u16::try_from(number(words.next())).expect("a status");
                self.0.status.store(status, Ordering::Relaxed);
            }
            "health" => self
                .0
                .healthy
                .store(words.next() == Some("on"), Ordering::Relaxed),
            "pause" => self.0.pause.store(number(words.next()), Ordering::Relaxed),
            "workers" => {
                let count = usize::try_from(number(words.next())).expect("a count");
                let workers = Workers {
                    free: Arc::new(Semaphore::new(count)),
                    span: Duration::from_millis(number(words.next())),
                };
                let workers = (count > 0).then_some(workers);
                *self.0.workers.lock().expect("nobody panicked") = workers;
            }
            "release" => drop(self.0.released.send_replace(true)),
            "leave" => drop(self.0.leaving.send_replace(true)),
            "end" => {
                while self.0.in_flight.load(Ordering::Relaxed) > 0 {
                    sleep(Duration::from_millis(5)).await;
                }
                return false;
            }
            other => panic!("no order: {other}"),
        }
        true
    }
}

/// What a pod can do at a time; who waits is served in turn.
#[derive(Clone, Debug)]
struct Workers {
    free: Arc<Semaphore>,
    span: Duration,
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight(Switches);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Obeys until there are no more orders.
pub(crate) async fn obey(switches: &Switches) {
    let mut term = signal(SignalKind::terminate()).expect("signals can be caught");
    let mut orders = BufReader::new(stdin()).lines();
    loop {
        tokio::select! {
            order = orders.next_line() => match order.expect("orders are text") {
                Some(order) if switches.obey(&order).await => {}
                _ => return,
            },
            _ = term.recv() => drop(switches.0.leaving.send_replace(true)),
        }
    }
}

async fn wait(switch: &watch::Sender<bool>) {
    // the sender lives as long as the process
    drop(switch.subscribe().wait_for(|on| *on).await);
}
