//! [`EtcdEngine`]: the contract of an engine in etcd's words.

use std::collections::BTreeSet;
use std::time::Duration;

use etcd_client::{
    Client, Compare, CompareOp, Error, GetOptions, GetResponse, KeyValue, PutOptions, Txn, TxnOp,
    TxnOpResponse, TxnResponse, WatchOptions, WatchStream,
};
use tokio::time::timeout;
use tower_affinity_core::{
    Announced, Engine, EngineError, EngineFuture, Replaced, Stored, Version,
};

use crate::link::Link;
use crate::options::{EtcdOptions, InvalidEtcd, check_endpoint};

/// The shared engine over etcd; see the [crate's documentation](crate).
#[derive(Debug)]
pub struct EtcdEngine {
    link: Link,
    state: String,
    replicas: String,
    alive: String,
}

impl EtcdEngine {
    /// An engine that keeps everything under `prefix`, and connects when it is first asked.
    ///
    /// # Errors
    ///
    /// If there is no endpoint, one is not of the form `http://HOST:PORT`, or the prefix is empty.
    pub fn new<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        prefix: &str,
        options: EtcdOptions,
    ) -> Result<Self, InvalidEtcd> {
        let endpoints: Vec<String> = endpoints.into_iter().map(Into::into).collect();
        if endpoints.is_empty() {
            return Err(InvalidEtcd::NoEndpoint);
        }
        for (number, endpoint) in (1..).zip(&endpoints) {
            check_endpoint(number, endpoint)?;
        }
        let prefix = prefix.trim_end_matches('/');
        if prefix.is_empty() {
            return Err(InvalidEtcd::Prefix);
        }
        Ok(Self {
            link: Link::new(endpoints, options),
            state: format!("{prefix}/state"),
            replicas: format!("{prefix}/replicas/"),
            alive: format!("{prefix}/alive/"),
        })
    }

    /// The document, and the revision of all of etcd at which it was read.
    async fn look(&self) -> Result<(Stored, i64), EngineError> {
        let found = self.link.any(|mut etcd| async move {
            // linearizable, unless it is asked to be serializable
            etcd.get(self.state.as_str(), None).await
        });
        let found = found.await?;
        let revision = found.header().map_or(0, |header| header.revision());
        Ok((stored(&found)?, revision))
    }

    /// Waits until the document is written or deleted at `revision` or later, or until what was
    /// before that is forgotten.
    async fn written(&self, revision: i64) -> Result<(), EngineError> {
        let options = WatchOptions::new().with_start_revision(revision);
        let watch = self.link.any_on(|mut etcd| {
            let options = options.clone();
            async move { etcd.watch(self.state.as_str(), Some(options)).await }
        });
        let (mut watch, turn) = watch.await?;
        let written = until_event(&mut watch, self.link.timeout()).await;
        if written.is_err() {
            self.link.leave(turn);
        }
        written
    }
}

impl Engine for EtcdEngine {
    fn read(&self) -> EngineFuture<'_, Stored> {
        Box::pin(async move { Ok(self.look().await?.0) })
    }

    fn replace(&self, version: Version, document: String) -> EngineFuture<'_, Replaced> {
        Box::pin(async move {
            // a version that etcd cannot have fits no document
            let unchanged = version.0.try_into().unwrap_or(-1);
            let unchanged = Compare::mod_revision(self.state.as_str(), CompareOp::Equal, unchanged);
            let put = TxnOp::put(self.state.as_str(), document, None);
            let replace = Txn::new().when([unchanged]).and_then([put]);
            let done = self.link.once(|etcd| commit(etcd, replace.clone())).await?;
            if !done.succeeded() {
                return Ok(Replaced::Lost);
            }
            // a transaction gives its revision to all that it writes
            let written = done.header().map_or(0, |header| header.revision());
            Ok(Replaced::Done(version_of(written)?))
        })
    }

    fn changed(&self, seen: Version) -> EngineFuture<'_, Stored> {
        Box::pin(async move {
            loop {
                let (stored, revision) = self.look().await?;
                if stored.version != seen {
                    return Ok(stored);
                }
                self.written(revision + 1).await?;
            }
        })
    }

    fn announce<'a>(
        &'a self,
        replica: &'a str,
        record: String,
        lapse: Duration,
    ) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            let seconds = lapse.as_secs().max(1).try_into().unwrap_or(i64::MAX);
            let announce = |mut etcd: Client| {
                let record = record.as_str();
                async move {
                    // a lease of its own each time: nothing to remember, nothing to lose; the last
                    // one has no key any more and lapses by itself
                    let lease = etcd.lease_grant(seconds, None).await?.id();
                    let leased = PutOptions::new().with_lease(lease);
                    let write = Txn::new().and_then([
                        TxnOp::put(self.record_key(replica), record, None),
                        TxnOp::put(self.alive_key(replica), "", Some(leased)),
                    ]);
                    etcd.txn(write).await
                }
            };
            self.link.any(announce).await.map(drop)
        })
    }

    fn depart<'a>(&'a self, replica: &'a str, record: String) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            let write = Txn::new().and_then([
                TxnOp::put(self.record_key(replica), record, None),
                TxnOp::delete(self.alive_key(replica), None),
            ]);
            let depart = self.link.any(|etcd| commit(etcd, write.clone()));
            depart.await.map(drop)
        })
    }

    fn forget<'a>(&'a self, replica: &'a str) -> EngineFuture<'a, bool> {
        Box::pin(async move {
            let delete = Txn::new().and_then([
                TxnOp::delete(self.record_key(replica), None),
                TxnOp::delete(self.alive_key(replica), None),
            ]);
            let done = self.link.once(|etcd| commit(etcd, delete.clone())).await?;
            let record = done.op_responses().into_iter().next();
            Ok(matches!(record, Some(TxnOpResponse::Delete(record)) if record.deleted() > 0))
        })
    }

    fn records(&self) -> EngineFuture<'_, Vec<Announced>> {
        Box::pin(async move {
            let below = Some(GetOptions::new().with_prefix());
            // one transaction, so that both lists are of the same moment
            let list = Txn::new().and_then([
                TxnOp::get(self.replicas.as_str(), below.clone()),
                TxnOp::get(self.alive.as_str(), below),
            ]);
            let lists = self.link.any(|etcd| commit(etcd, list.clone())).await?;
            let mut lists = lists.op_responses().into_iter();
            match (lists.next(), lists.next()) {
                (Some(TxnOpResponse::Get(records)), Some(TxnOpResponse::Get(alive))) => {
                    Ok(self.announced(&records, &alive))
                }
                _ => Err(EngineError::new(
                    "etcd answered with something else than two lists",
                )),
            }
        })
    }
}

impl EtcdEngine {
    fn record_key(&self, replica: &str) -> String {
        format!("{}{replica}", self.replicas)
    }

    fn alive_key(&self, replica: &str) -> String {
        format!("{}{replica}", self.alive)
    }

    fn announced(&self, records: &GetResponse, alive: &GetResponse) -> Vec<Announced> {
        let names = alive.kvs().iter().map(|key| name(key, &self.alive));
        let alive: BTreeSet<String> = names.collect();
        // etcd lists keys in their order
        let records = records.kvs().iter().map(|record| {
            let replica = name(record, &self.replicas);
            Announced {
                alive: alive.contains(&replica),
                replica,
                // one that is no text is a broken record and spoils no other
                record: String::from_utf8_lossy(record.value()).into_owned(),
            }
        });
        records.collect()
    }
}

async fn commit(mut etcd: Client, transaction: Txn) -> Result<TxnResponse, Error> {
    etcd.txn(transaction).await
}

/// The name of the replica that a key belongs to.
fn name(key: &KeyValue, before: &str) -> String {
    let name = key.key().get(before.len()..).unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

fn stored(found: &GetResponse) -> Result<Stored, EngineError> {
    let Some(state) = found.kvs().first() else {
        return Ok(Stored {
            document: None,
            version: Version::NONE,
        });
    };
    let document = state.value_str().map_err(EngineError::new)?;
    Ok(Stored {
        document: Some(document.to_owned()),
        version: version_of(state.mod_revision())?,
    })
}

fn version_of(revision: i64) -> Result<Version, EngineError> {
    match u64::try_from(revision) {
        Ok(revision) if revision > 0 => Ok(Version(revision)),
        _ => Err(EngineError::new("etcd answered without a revision")),
    }
}

/// Waits for an event, or for the news that earlier ones are compacted. A silent stream is asked
/// whether it still lives.
async fn until_event(watch: &mut WatchStream, patience: Duration) -> Result<(), EngineError> {
    loop {
        let message = match timeout(patience, watch.message()).await {
            Ok(message) => message,
            Err(_quiet) => {
                watch.request_progress().await.map_err(EngineError::new)?;
                let message = timeout(patience, watch.message()).await;
                message.map_err(EngineError::new)?
            }
        };
        let message = message.map_err(EngineError::new)?;
        let message = message.ok_or_else(|| EngineError::new("etcd has ended the watch"))?;
        if !message.events().is_empty() || message.compact_revision() > 0 {
            return Ok(());
        }
        if message.canceled() {
            return Err(EngineError::new(message.cancel_reason().to_owned()));
        }
    }
}
