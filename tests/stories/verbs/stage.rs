//! Two groups in the rollout, a third one that only runs, and an operator.

use affinity_tests::Scratch;
use affinity_tests::admin::Admin;
use affinity_tests::client::{Answer, Client};
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use serde_json::json;

pub(in crate::stories) const OLD: &str = "9f1c2ab";
pub(in crate::stories) const NEW: &str = "c3d4e5f";
pub(in crate::stories) const LATER: &str = "0a1b2c3";

/// Two groups in the rollout, a third one that only runs.
pub(in crate::stories) struct Stage {
    pub(in crate::stories) fleet: Fleet,
    pub(in crate::stories) replica: Replica,
    pub(in crate::stories) history: History,
    _dir: Scratch,
}

impl Stage {
    pub(in crate::stories) async fn new(old: u16, new: u16) -> Self {
        Self::with(old, new, |_| ()).await
    }

    pub(in crate::stories) async fn with(
        old: u16,
        new: u16,
        edit: impl FnOnce(&mut Config),
    ) -> Self {
        let fleet = Fleet::start(&[OLD, NEW, LATER], 1).await;
        let dir = Scratch::new();
        let mut config = Config::new(&fleet, &[(OLD, old), (NEW, new)]);
        edit(&mut config);
        let replica = Replica::start(&dir, &config).await;
        Self {
            fleet,
            replica,
            history: History::default(),
            _dir: dir,
        }
    }

    pub(in crate::stories) fn admin(&self) -> &Admin {
        &self.replica.admin
    }

    pub(in crate::stories) fn client(&self) -> Client {
        Client::new(0, &self.history)
    }

    pub(in crate::stories) async fn get(&self, client: &mut Client) -> Answer {
        client.get(self.replica.address(), "/").await
    }

    /// The group that a new session is drawn for.
    pub(in crate::stories) async fn drawn(&self) -> String {
        let answer = self.get(&mut self.client()).await;
        answer.group().expect("a new session is served").to_owned()
    }

    pub(in crate::stories) async fn state(&self, group: &str) -> String {
        self.admin().group(group).await["state"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub(in crate::stories) async fn register(&self, weight: u16) {
        let endpoints = self.fleet.addresses(LATER);
        let body = json!({ "name": LATER, "endpoints": endpoints, "weight": weight });
        self.admin().post("/v1/groups", &body).await.accepted();
    }
}
