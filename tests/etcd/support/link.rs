//! [`Link`]: one replica's way to etcd, which can lag behind.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tower_affinity::core::{Announced, Engine, EngineFuture, Replaced, Stored, Version};
use tower_affinity::etcd::{EtcdEngine, EtcdOptions};
use tower_affinity_testing::engine::EtcdServer;

/// An engine over a real etcd. While it lags, who reads or waits for a change is shown the document
/// as it was when the lag began; what is written reaches etcd all the same.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    etcd: Arc<EtcdEngine>,
    lag: watch::Sender<Option<Stored>>,
}

impl Link {
    pub(crate) fn to(etcd: &EtcdServer) -> Self {
        let engine = EtcdEngine::new([etcd.endpoint()], PREFIX, EtcdOptions::new());
        Self {
            etcd: Arc::new(engine.expect("etcd can be there")),
            lag: watch::Sender::new(None),
        }
    }

    /// From now on it shows nothing newer than this.
    pub(crate) async fn lag(&self) {
        let stored = self.etcd.read().await.expect("etcd answers");
        self.lag.send_replace(Some(stored));
    }

    /// It shows the newest state again.
    pub(crate) fn catch_up(&self) {
        self.lag.send_replace(None);
    }

    /// Puts a document there as it is, whatever it is.
    pub(crate) async fn overwrite(&self, document: &str) {
        let version = self.etcd.read().await.expect("etcd answers").version;
        let replaced = self.etcd.replace(version, document.to_owned()).await;
        assert!(
            matches!(replaced, Ok(Replaced::Done(_))),
            "nobody else writes: {replaced:?}"
        );
    }

    /// The document as it is.
    pub(crate) async fn document(&self) -> String {
        let stored = self.etcd.read().await.expect("etcd answers");
        stored.document.expect("there is a state")
    }
}

impl Engine for Link {
    fn read(&self) -> EngineFuture<'_, Stored> {
        Box::pin(async move {
            let lag = self.lag.borrow().clone();
            match lag {
                Some(stored) => Ok(stored),
                None => self.etcd.read().await,
            }
        })
    }

    fn replace(&self, version: Version, document: String) -> EngineFuture<'_, Replaced> {
        self.etcd.replace(version, document)
    }

    fn changed(&self, seen: Version) -> EngineFuture<'_, Stored> {
        Box::pin(async move {
            let mut lag = self.lag.subscribe();
            // a link that lags has no news; one that begins to lag tells of news that nobody can read
            drop(lag.wait_for(Option::is_none).await);
            self.etcd.changed(seen).await
        })
    }

    fn announce<'a>(
        &'a self,
        replica: &'a str,
        record: String,
        lapse: Duration,
    ) -> EngineFuture<'a, ()> {
        self.etcd.announce(replica, record, lapse)
    }

    fn depart<'a>(&'a self, replica: &'a str, record: String) -> EngineFuture<'a, ()> {
        self.etcd.depart(replica, record)
    }

    fn forget<'a>(&'a self, replica: &'a str) -> EngineFuture<'a, bool> {
        self.etcd.forget(replica)
    }

    fn records(&self) -> EngineFuture<'_, Vec<Announced>> {
        self.etcd.records()
    }
}

/// Where the service `checkout` keeps its state.
pub(crate) const PREFIX: &str = "/affinity/checkout";
