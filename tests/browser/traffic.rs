//! Clients that come, walk through a few pages, and leave. The new commit fails them now and then.

use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::history::History;
use fastrand::Rng;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::NEW;

/// How many clients there are at a time.
const CLIENTS: u64 = 24;

/// Of so many requests to the new commit one fails.
const FAILS: u32 = 40;

/// Traffic until it is ended.
pub(crate) struct Traffic {
    clients: JoinSet<()>,
    ended: watch::Sender<bool>,
}

impl Traffic {
    pub(crate) fn begin(to: SocketAddr) -> Self {
        let (ended, _) = watch::channel(false);
        let (history, mut clients) = (History::default(), JoinSet::new());
        for number in 0..CLIENTS {
            let (history, ended) = (history.clone(), ended.subscribe());
            clients.spawn(async move {
                let mut rng = Rng::with_seed(number);
                while !*ended.borrow() {
                    let mut client = Client::new(number, &history);
                    let (mut left, mut path) = (rng.u32(4..40), "/");
                    while left > 0 && !*ended.borrow() {
                        let answer = client.get(to, path).await;
                        let fails = answer.group() == Some(NEW) && rng.u32(..FAILS) == 0;
                        path = if fails { "/status/500" } else { "/" };
                        sleep(Duration::from_millis(rng.u64(100..700))).await;
                        left -= 1;
                    }
                }
            });
        }
        Self { clients, ended }
    }

    /// Waits until every client has finished.
    pub(crate) async fn end(self) {
        self.ended.send_replace(true);
        // a client that failed has panicked
        self.clients.join_all().await;
    }
}
