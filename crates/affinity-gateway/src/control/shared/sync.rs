//! Brings the shared state and ours together.

use std::sync::atomic::Ordering;

use tokio::task::spawn_blocking;
use tower_affinity::core::{
    Meeting, Replaced, SharedState, Stored, Version, contribution, lost_aborts, meet,
};

use super::{Member, SharedTrouble};
use crate::causes::with_causes;
use crate::control::told::difference;
use crate::events::Kind;

/// How often a change is tried again after other replicas were faster.
pub(super) const ATTEMPTS: usize = 8;

/// What a look at the shared state asks for.
enum Look {
    /// Nothing: it is ours.
    Same,
    /// It is newer, and ours by now.
    Taken,
    /// Ours is newer: it was lost there.
    Lost(SharedState),
}

impl Member {
    /// Reads the shared state and makes ours and it the same. Then what only this replica knows
    /// goes into it: aborts, new groups of the configuration, a greater revision that a pin has
    /// shown.
    pub(crate) async fn sync(&self) -> Result<Version, SharedTrouble> {
        let _changing = self.shared.changing.lock().await;
        let _fetch = self.shared.fetches.begin();
        let synced = async {
            let version = self.meet().await?;
            self.contribute(version).await
        }
        .await;
        self.shared.tried(self.control.now(), synced.as_ref().err());
        synced
    }

    /// As [`Member::sync`], for who may block.
    pub(in crate::control) fn sync_blocking(&self) -> Result<Version, SharedTrouble> {
        let member = self.clone();
        let synced = self.shared.wait(async move { member.sync().await });
        synced.unwrap_or(Err(SharedTrouble::Silent))
    }

    /// Reads the shared state and takes it, or writes ours back where it was lost.
    pub(super) async fn meet(&self) -> Result<Version, SharedTrouble> {
        for _ in 0..ATTEMPTS {
            let stored = self.shared.ask(|engine| engine.read()).await?;
            match self.look(&stored)? {
                Look::Same => return Ok(stored.version),
                Look::Taken => {
                    self.save().await;
                    return Ok(stored.version);
                }
                Look::Lost(ours) => {
                    self.shared.regressions.fetch_add(1, Ordering::Relaxed);
                    let revision = ours.rollout.revision().0;
                    let text = format!(
                        "the shared state is behind ours; ours is written back (revision {revision})"
                    );
                    self.control.events().warn(Kind::Shared, None, &text);
                    if let Replaced::Done(version) = self.write(stored.version, ours).await? {
                        return Ok(version);
                    }
                }
            }
        }
        Err(SharedTrouble::Busy)
    }

    fn look(&self, stored: &Stored) -> Result<Look, SharedTrouble> {
        let mut live = self.control.live();
        let ours = live.kept.rollout.clone();
        let Some(document) = &stored.document else {
            return Ok(Look::Lost(live.kept.shared_state(ours)?));
        };
        let theirs = SharedState::from_document(document, &self.shared.service);
        let theirs = theirs.inspect_err(|_| {
            self.shared.rejected.fetch_add(1, Ordering::Relaxed);
        })?;
        let change = self.control.change_of(&live, &ours, self.control.now());
        Ok(match meet(&ours, &theirs.rollout) {
            Meeting::Same => Look::Same,
            Meeting::Theirs => {
                let lost = lost_aborts(&ours, &theirs.rollout, change);
                live.kept.add_facts(lost, self.control.events());
                live.kept.heard_of(theirs.endpoints);
                let revision = theirs.rollout.revision().0;
                let what = difference(&ours, &theirs.rollout);
                self.control.accept(&mut live, theirs.rollout);
                let text = format!("revision {revision} of the shared state: {what}");
                self.control.events().info(Kind::Rollout, None, &text);
                Look::Taken
            }
            Meeting::Ours(next) => {
                let lost = lost_aborts(&theirs.rollout, &ours, change);
                if live.kept.add_facts(lost, self.control.events()) {
                    self.control.accept(&mut live, ours);
                }
                Look::Lost(live.kept.shared_state(next)?)
            }
        })
    }

    /// What only this replica knows goes into the shared state, one change each.
    pub(super) async fn contribute(&self, mut version: Version) -> Result<Version, SharedTrouble> {
        for _ in 0..ATTEMPTS {
            let Some(next) = self.contribution()? else {
                return Ok(version);
            };
            version = match self.write(version, next).await? {
                Replaced::Done(version) => version,
                Replaced::Lost => self.meet().await?,
            };
        }
        Err(SharedTrouble::Busy)
    }

    /// The next thing that the shared state does not know yet.
    fn contribution(&self) -> Result<Option<SharedState>, SharedTrouble> {
        let mut live = self.control.live();
        self.control.settle_facts(&mut live);
        let ours = live.kept.rollout.clone();
        let change = self.control.change_of(&live, &ours, self.control.now());
        let next = contribution(
            &ours,
            &live.kept.facts,
            || live.kept.with_new_groups(&ours, change),
            self.control.rollouts().greatest(),
            change,
        );
        let state = next.map(|next| live.kept.shared_state(next));
        Ok(state.transpose()?)
    }

    /// Writes a state by compare-and-set and takes it once it is written. An answer that was lost
    /// on its way is looked for.
    pub(super) async fn write(
        &self,
        version: Version,
        state: SharedState,
    ) -> Result<Replaced, SharedTrouble> {
        let document = state.to_document(&self.shared.service);
        let asked = self.shared.ask(|engine| engine.replace(version, document));
        let replaced = match asked.await {
            Ok(replaced) => replaced,
            Err(trouble) => self.found(version, state.write).await.ok_or(trouble)?,
        };
        if let Replaced::Done(_) = replaced {
            {
                let mut live = self.control.live();
                live.kept.heard_of(state.endpoints);
                self.control.accept(&mut live, state.rollout);
            }
            self.save().await;
        }
        Ok(replaced)
    }

    /// What became of a write whose answer was lost; `None` if that cannot be told.
    async fn found(&self, version: Version, write: u64) -> Option<Replaced> {
        let stored = self.shared.ask(|engine| engine.read()).await.ok()?;
        let document = stored.document.as_deref()?;
        let theirs = SharedState::from_document(document, &self.shared.service).ok()?;
        if theirs.write == write {
            return Some(Replaced::Done(stored.version));
        }
        (stored.version != version).then_some(Replaced::Lost)
    }

    /// Keeps in the local file what was accepted: a start without the engine begins with it.
    pub(super) async fn save(&self) {
        let control = self.control.clone();
        match spawn_blocking(move || control.save()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = with_causes(&error);
                tracing::error!(error, "what was accepted is not kept in the local file");
            }
            Err(error) => {
                tracing::error!(%error, "what was accepted is not kept in the local file");
            }
        }
    }
}
