//! The start of a replica that shares its state.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tower_affinity::balance::Groups;
use tower_affinity::core::{Clock, Engine, Replaced, ReplicaRecord, SharedState, Stored, Version};

use super::{Member, Shared, SharedTrouble};
use crate::causes::with_causes;
use crate::config::Settings;
use crate::control::ControlError;
use crate::control::peers::Served;
use crate::control::plane::{Control, Start};
use crate::control::random::replica_name;
use crate::control::store::{Kept, StateFile};

/// How long it is waited before the engine is asked again.
const AGAIN: Duration = Duration::from_millis(500);

impl Control {
    /// As [`Control::start`], for a replica that shares its state through `engine`.
    ///
    /// It begins with the shared state. While that is out of reach it begins with what it accepted
    /// last, and without that it waits. The configuration makes a state only where the engine says
    /// that there is none.
    ///
    /// # Errors
    ///
    /// As [`Control::start`], and if what the engine holds is refused and nothing was accepted
    /// before.
    pub async fn join(
        settings: &Settings,
        groups: Groups,
        clock: Arc<dyn Clock>,
        engine: Arc<dyn Engine>,
    ) -> Result<Start, ControlError> {
        let file = StateFile::new(settings.state.file.clone());
        Self::join_from(file, settings, groups, clock, engine).await
    }

    /// As [`Control::join`], beside a process that is being taken over: as a new replica, since the
    /// other one speaks for what it has open until it leaves. Nothing is written before
    /// [`Control::own`].
    pub(crate) async fn join_over(
        settings: &Settings,
        groups: Groups,
        clock: Arc<dyn Clock>,
        engine: Arc<dyn Engine>,
    ) -> Result<Start, ControlError> {
        let file = StateFile::of_another(settings.state.file.clone());
        Self::join_from(file, settings, groups, clock, engine).await
    }

    async fn join_from(
        file: StateFile,
        settings: &Settings,
        groups: Groups,
        clock: Arc<dyn Clock>,
        engine: Arc<dyn Engine>,
    ) -> Result<Start, ControlError> {
        let shared = Arc::new(Shared::new(engine, settings.service.clone(), &clock));
        let local = file.clone();
        let local = match spawn_blocking(move || local.load()).await {
            Ok(loaded) => loaded?,
            Err(_) => None,
        };
        let (kept, served) = match local {
            Some(kept) if file.owner().is_another() => {
                let replica = replica_name()?;
                (Kept { replica, ..kept }, Served::Never)
            }
            Some(kept) => {
                let served = shared.served(&kept.replica).await;
                (kept, served)
            }
            None => (shared.first(settings, &*clock).await?, Served::Never),
        };
        let (settings, begun) = (settings.clone(), (Arc::clone(&shared), served));
        let start = spawn_blocking(move || {
            Self::begin(file, &settings, groups, clock, (kept, Some(begun)))
        });
        let start = start
            .await
            .map_err(|_| ControlError::Shared(SharedTrouble::Busy))??;
        let member = Member::new(start.control.clone(), shared);
        if let Err(trouble) = member.sync().await {
            let error = with_causes(&trouble);
            tracing::warn!(error, "serving what was accepted last");
        }
        Ok(start)
    }
}

impl Shared {
    /// What a replica of that name has said before.
    async fn served(&self, replica: &str) -> Served {
        let Ok(announced) = self.ask(|engine| engine.records()).await else {
            return Served::Unknown;
        };
        let mut announced = announced.into_iter();
        let own = announced.find(|announced| announced.replica == replica);
        match own.map(|own| ReplicaRecord::parse(&own.record)) {
            Some(Ok(record)) => Served::Said(Box::new(record)),
            Some(Err(_)) | None => Served::Unknown,
        }
    }

    /// The state that a replica begins with which has none of its own.
    async fn first(&self, settings: &Settings, clock: &dyn Clock) -> Result<Kept, ControlError> {
        loop {
            match self.found_or_made(settings, clock).await {
                Ok(Some(kept)) => return Ok(kept),
                Ok(None) => {}
                Err(ControlError::Shared(
                    trouble @ (SharedTrouble::Silent | SharedTrouble::Engine(_)),
                )) => {
                    let error = with_causes(&trouble);
                    tracing::warn!(error, "waiting for the shared state");
                    sleep(AGAIN).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// `None` if another replica was faster.
    async fn found_or_made(
        &self,
        settings: &Settings,
        clock: &dyn Clock,
    ) -> Result<Option<Kept>, ControlError> {
        let read = self.ask(|engine| engine.read()).await;
        let Stored { document, version } = read?;
        if let Some(document) = document {
            let state = SharedState::from_document(&document, &self.service);
            let state = state.map_err(ControlError::SharedRefused)?;
            return Ok(Some(Kept::of_shared(state)?));
        }
        let kept = Kept::first(settings, clock.now())?;
        let document = kept.shared_state(kept.rollout.clone())?;
        let document = document.to_document(&self.service);
        debug_assert_eq!(version, Version::NONE);
        let made = self.ask(|engine| engine.replace(version, document)).await?;
        Ok(matches!(made, Replaced::Done(_)).then_some(kept))
    }
}
