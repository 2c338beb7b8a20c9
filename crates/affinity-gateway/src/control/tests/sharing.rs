//! Replicas that share their state through an engine.

use tower_affinity::core::{
    AbortPolicy, Engine, Replaced, SharedState, Standing, State, Status, Stored, Version,
};
use tower_affinity_testing::engine::{Fault, MemoryEngine};

use super::*;
use crate::control::Member;

mod changes;
mod facts;
mod losses;

/// One replica with a directory of its own.
pub(super) struct Replica {
    pub(super) control: Control,
    engine: MemoryEngine,
    pub(super) clock: HandClock,
    directory: tempfile::TempDir,
}

impl Replica {
    pub(super) async fn join(engine: &MemoryEngine) -> Self {
        Self::with(engine.link(), THREE, tempfile::tempdir().unwrap()).await
    }

    async fn with(engine: MemoryEngine, groups: &str, directory: tempfile::TempDir) -> Self {
        let settings = settings(groups, directory.path());
        let clock = HandClock::at(Timestamp::from_secs(START));
        Self::begin(engine, &settings, clock, directory).await
    }

    /// With another head of the configuration than the other tests.
    pub(super) async fn keyed(
        engine: MemoryEngine,
        head: &str,
        directory: tempfile::TempDir,
    ) -> Self {
        let settings = with_keys(head, THREE, directory.path());
        let clock = HandClock::at(Timestamp::from_secs(START));
        Self::begin(engine, &settings, clock, directory).await
    }

    async fn begin(
        engine: MemoryEngine,
        settings: &Settings,
        clock: HandClock,
        directory: tempfile::TempDir,
    ) -> Self {
        let started = join(&engine, settings, &clock).await;
        Self {
            control: started.unwrap(),
            engine,
            clock,
            directory,
        }
    }

    /// The same replica after a restart, with other settings.
    pub(super) async fn restart(self, groups: &str) -> Self {
        drop(self.control);
        let settings = settings(groups, self.directory.path());
        Self::begin(self.engine, &settings, self.clock, self.directory).await
    }

    pub(super) fn member(&self) -> Member {
        self.control.member().expect("a shared state")
    }

    pub(super) async fn sync(&self) {
        self.member().sync().await.unwrap();
    }

    pub(super) async fn run(&self, verb: Verb) -> Result<Changed, ControlError> {
        self.run_if(None, verb).await
    }

    async fn run_if(
        &self,
        if_match: Option<Revision>,
        verb: Verb,
    ) -> Result<Changed, ControlError> {
        let request = Request {
            who: "a test".to_owned(),
            if_match,
            verb,
        };
        let control = self.control.clone();
        tokio::task::spawn_blocking(move || control.change(&request))
            .await
            .unwrap()
    }

    async fn abort(&self, group: &str, to: Option<&str>) -> Changed {
        self.run(abort(group, to)).await.unwrap()
    }

    fn revision(&self) -> Revision {
        self.control.rollouts().current().revision()
    }

    fn state(&self, group: &str) -> &'static str {
        let rollout = self.control.rollouts().current();
        rollout.group(&name(group)).unwrap().state().name()
    }

    fn target(&self, group: &str) -> String {
        match self
            .control
            .rollouts()
            .current()
            .group(&name(group))
            .unwrap()
            .state()
        {
            State::Aborted(abort) => abort.target.name().to_string(),
            other => panic!("{group} is {}", other.name()),
        }
    }

    fn standings(&self) -> Vec<(String, Standing)> {
        let facts = self.control.facts().into_iter();
        facts
            .map(|(fact, standing)| (fact.id.name().to_string(), standing))
            .collect()
    }
}

async fn join(
    engine: &MemoryEngine,
    settings: &Settings,
    clock: &HandClock,
) -> Result<Control, ControlError> {
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let groups = Groups::new(clock.clone());
    let started = Control::join(settings, groups, shared, Arc::new(engine.clone())).await?;
    Ok(started.control)
}

pub(super) const THREE: &str = r#"
[[group]]
name = "aaa"
weight = 80
stable = true
endpoints = ["127.0.0.1:7001"]
[[group]]
name = "bbb"
weight = 20
endpoints = ["127.0.0.1:7002"]
[[group]]
name = "ccc"
weight = 0
endpoints = ["127.0.0.1:7003"]
"#;

pub(super) fn abort(group: &str, to: Option<&str>) -> Verb {
    Verb::Abort {
        group: name(group),
        to: to.map(name),
        policy: None,
        within: None,
        force: false,
    }
}

pub(super) fn weights(group: &str, weight: u64) -> Verb {
    Verb::Weights(BTreeMap::from([(
        name(group),
        Weight::new(weight).unwrap(),
    )]))
}

fn shared(engine: &MemoryEngine) -> SharedState {
    let document = engine.stored().document.expect("a shared state");
    SharedState::from_document(&document, &"checkout".parse().unwrap()).unwrap()
}
