//! A load of many sessions: at a fixed rate, whatever comes back (open loop), or one request of
//! each session after another (closed loop).
//!
//! Every request has an id of its own and is written down as a [`Shot`]. Half of the sessions speak
//! HTTP/1.1 on kept connections, half HTTP/2. Nothing is ever sent again.

mod browser;
mod shot;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use self::browser::Browser;
pub use self::browser::{Ask, Shows};
pub use self::shot::{Outcome, Shot, Shots};
use crate::LOAD_BOUND;

/// Sessions that have begun.
#[derive(Clone, Debug)]
pub struct Load {
    sessions: Arc<Vec<Browser>>,
    shared: Arc<Shared>,
}

/// What all sessions share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    requests: AtomicU64,
    shots: Mutex<Vec<Shot>>,
}

impl Shared {
    fn request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn enter(&self, shot: Shot) {
        self.shots.lock().unwrap().push(shot);
    }
}

/// A load that runs at a fixed rate until it is stopped.
#[derive(Debug)]
#[must_use = "a load that is not stopped tells nothing"]
pub struct Running {
    load: Load,
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Load {
    /// Begins `sessions` sessions at a gateway, one after another.
    ///
    /// # Panics
    ///
    /// If one of them is not answered by 200.
    pub async fn begin(to: SocketAddr, sessions: usize) -> Self {
        Self::begin_showing(Shows::Cookies, to, sessions).await
    }

    /// As [`Load::begin`], for sessions that show something else.
    ///
    /// # Panics
    ///
    /// If one of them is not answered by 200.
    pub async fn begin_showing(shows: Shows, to: SocketAddr, sessions: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let kept = browser::Kept::new();
        let sessions: Vec<_> = (0..sessions)
            .map(|n| Browser::new(n, to, shows, &kept, &shared))
            .collect();
        for session in &sessions {
            session.ask(&Ask::get("/begin")).await;
        }
        let load = Self {
            sessions: Arc::new(sessions),
            shared,
        };
        let bad = load
            .shots()
            .failures()
            .next()
            .map(|shot| format!("{shot:?}"));
        assert_eq!(bad, None, "a session could not begin");
        load
    }

    /// All requests so far, those that began the sessions included.
    #[must_use]
    pub fn shots(&self) -> Shots {
        Shots::new(self.shared.shots.lock().unwrap().clone())
    }

    /// Asks at a fixed rate a second, each time the next session, whatever comes back: `asks` in
    /// turn.
    ///
    /// # Panics
    ///
    /// If there is nothing to ask.
    pub fn open(&self, rate: u32, asks: &[Ask]) -> Running {
        assert!(!asks.is_empty(), "nothing to ask");
        let (load, asks) = (self.clone(), asks.to_vec());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let mut ticks = interval(Duration::from_secs(1) / rate);
            // what is late is made up for: the rate is fixed
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            let mut open = JoinSet::new();
            for turn in 0_usize.. {
                ticks.tick().await;
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let (load, ask) = (load.clone(), asks[turn % asks.len()].clone());
                let session = turn % load.sessions.len();
                open.spawn(async move { load.sessions[session].ask(&ask).await });
                while open.try_join_next().is_some() {}
            }
            while let Some(ended) = open.join_next().await {
                ended.expect("a session does not panic");
            }
        });
        Running {
            load: self.clone(),
            stop,
            task,
        }
    }

    /// Asks once with each session, `parallel` of them at a time.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn round(&self, parallel: usize, ask: &Ask) {
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..parallel {
            let (load, next, ask) = (self.clone(), Arc::clone(&next), ask.clone());
            workers.spawn(async move {
                while let Some(session) = load.sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    session.ask(&ask).await;
                }
            });
        }
        let done = tokio::time::timeout(LOAD_BOUND, workers.join_all()).await;
        done.expect("a round ends in time");
    }
}

impl Running {
    /// Asks no more, and waits for what is open; answers everything that was ever asked.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn stop(self) -> Shots {
        self.stop.store(true, Ordering::Relaxed);
        let ended = tokio::time::timeout(LOAD_BOUND, self.task).await;
        ended
            .expect("what is open ends in time")
            .expect("a load does not panic");
        self.load.shots()
    }
}

/// Whether a status says that all is well.
fn is_well(status: StatusCode) -> bool {
    status.is_success()
}
