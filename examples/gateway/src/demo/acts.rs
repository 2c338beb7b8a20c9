//! The script: what the operator does while the clients walk, and the stage on which it is played.

use std::{net::SocketAddr, ops::Range, time::Duration};

use fastrand::Rng;
use tokio::task::JoinSet;

use super::{
    board::Board,
    client::{Client, Connections},
    fleet::Fleet,
    flow::{A, B, C},
    operator::{Operator, Order, Refused},
    walk::walk,
};

/// One act: sessions that arrive one after the other, and cues between them.
#[derive(Debug)]
pub(crate) struct Act {
    pub(crate) title: &'static str,
    sessions: usize,
    /// What the operator does once so many sessions have arrived.
    cues: &'static [(usize, Order)],
}

/// B replaces A step by step; at every step dozens of sessions are under way.
pub(crate) static REPLACE: Act = Act {
    title: "replace",
    sessions: 240,
    cues: &[
        (0, Order::Register(B.commit)),
        (48, Order::Weights(&[(A.commit, 90), (B.commit, 10)])),
        (96, Order::Weights(&[(A.commit, 50), (B.commit, 50)])),
        (144, Order::Weights(&[(A.commit, 0), (B.commit, 100)])),
        (192, Order::Promote(B.commit)),
    ],
};

/// C starts at 30 % and turns out to be bad.
pub(crate) static ROLL_BACK: Act = Act {
    title: "roll back",
    sessions: 140,
    cues: &[
        (0, Order::Register(C.commit)),
        (20, Order::Weights(&[(B.commit, 70), (C.commit, 30)])),
        (90, Order::Abort(C.commit)),
    ],
};

/// How fast the script is played.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    /// Between the arrivals of two sessions.
    pub(crate) gap: Duration,
    /// Between an answer and the next request of its session.
    pub(crate) think: Range<Duration>,
}

impl Default for Pace {
    /// A session lasts about as long as one step of the rollout, so most of them meet a change;
    /// both runs together take about 15 seconds.
    fn default() -> Self {
        Self {
            gap: Duration::from_millis(14),
            think: millis(40)..millis(200),
        }
    }
}

/// What a script is played with.
#[derive(Debug)]
pub(crate) struct Stage<'a, O> {
    pub(crate) operator: &'a O,
    pub(crate) fleet: &'a Fleet,
    /// Where the gateway takes the clients' requests.
    pub(crate) site: SocketAddr,
    pub(crate) pace: Pace,
    pub(crate) seed: u64,
}

impl<O: Operator> Stage<'_, O> {
    /// Plays one act to its end: every session that it started has finished or is broken.
    pub(crate) async fn play(&self, act: &Act, board: &Board) -> Result<(), Refused> {
        let tally = board.act(act.title);
        let connections = Connections::new();
        let mut rng = Rng::with_seed(self.seed);
        let mut sessions = JoinSet::new();
        for arrived in 0..act.sessions {
            for (_, order) in act.cues.iter().filter(|(at, _)| *at == arrived) {
                self.order(*order, board).await?;
            }
            let client = Client::new(connections.clone(), self.site);
            let (rng, think, tally) = (rng.fork(), self.pace.think.clone(), tally.clone());
            sessions.spawn(async move { walk(client, rng, think, &tally).await });
            tokio::time::sleep(self.pace.gap).await;
        }
        while let Some(ended) = sessions.join_next().await {
            ended.map_err(|fault| Refused(format!("a client failed: {fault}")))?;
        }
        Ok(())
    }

    async fn order(&self, order: Order, board: &Board) -> Result<(), Refused> {
        let endpoints = match order {
            Order::Register(commit) => self.fleet.endpoints(commit),
            _ => &[],
        };
        let weights = self.operator.obey(order, endpoints).await?;
        board.ordered(order, weights);
        Ok(())
    }
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
