//! Clients that go on until they are told to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use affinity_tests::client::Client;
use affinity_tests::history::History;
use affinity_tests::jar::Keeps;
use affinity_tests::{LOAD_BOUND, until_within};
use tokio::task::JoinSet;

/// Running clients and what they were answered.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) history: History,
    stop: Arc<AtomicBool>,
    tasks: JoinSet<()>,
}

impl Traffic {
    /// `sessions` clients, shared out over `tasks`; each sends its requests to one gateway after the
    /// other.
    pub(crate) fn start(to: &[SocketAddr], sessions: u64, tasks: u64, keeps: Keeps) -> Self {
        let history = History::default();
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = JoinSet::new();
        for task in 0..tasks {
            let numbers = (0..sessions).filter(|number| number % tasks == task);
            let clients = numbers.map(|number| Client::keeping(keeps, number, &history));
            let (mut clients, to): (Vec<_>, _) = (clients.collect(), to.to_owned());
            let stop = Arc::clone(&stop);
            running.spawn(async move {
                let mut at = to.iter().cycle();
                while !stop.load(Ordering::Relaxed) {
                    for client in &mut clients {
                        client.get(*at.next().expect("a gateway"), "/step").await;
                    }
                    // a number of clients that the gateways divide would tie each to one
                    if clients.len() % to.len() == 0 {
                        at.next();
                    }
                }
            });
        }
        Self {
            history,
            stop,
            tasks: running,
        }
    }

    /// Waits for that many more answers.
    pub(crate) async fn more(&self, count: usize) {
        let goal = self.history.len() + count;
        until_within(LOAD_BOUND, "more answers", async || {
            (self.history.len() >= goal).then_some(())
        })
        .await;
    }

    /// Ends all clients, each after its request.
    pub(crate) async fn stop(mut self) -> History {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(task) = self.tasks.join_next().await {
            task.expect("a client finishes");
        }
        self.history
    }
}
