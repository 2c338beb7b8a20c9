//! A change of the shared state.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tower_affinity::core::{Replaced, SharedState, Version};

use super::sync::ATTEMPTS;
use super::{Member, SharedTrouble};
use crate::control::{Changed, ControlError, Held, Request, Verb};

/// How long a change may take with all its tries.
const CHANGE: Duration = Duration::from_secs(3);

/// What one try came to.
enum Try {
    /// It is to be written.
    Write(SharedState),
    /// It would alter nothing.
    Nothing,
}

impl Member {
    /// As [`Member::change`], for who may block.
    pub(in crate::control) fn change_blocking(
        &self,
        request: &Request,
    ) -> Result<Changed, ControlError> {
        let (member, request) = (self.clone(), request.clone());
        let made = self
            .shared
            .wait(async move { member.change(&request).await });
        made.unwrap_or(Err(ControlError::Shared(SharedTrouble::Silent)))
    }

    /// Makes a change: decided on the newest shared state, written by compare-and-set, and decided
    /// anew where another replica was faster. An abort that cannot reach the shared state becomes
    /// a fact of this replica.
    async fn change(&self, request: &Request) -> Result<Changed, ControlError> {
        let _changing = self.shared.changing.lock().await;
        let before = self.control.rollouts().current();
        // what other replicas change waits for ours, so ours may not try for ever
        let made = timeout(CHANGE, self.try_change(request)).await;
        let made = made.unwrap_or(Err(SharedTrouble::Silent.into()));
        let trouble = match &made {
            Err(ControlError::Shared(trouble)) => Some(trouble),
            _ => None,
        };
        self.shared.tried(self.control.now(), trouble);
        match made {
            Ok(()) => Ok(Changed {
                before,
                after: self.control.rollouts().current(),
                held: Held::All,
            }),
            Err(ControlError::Shared(trouble)) if matches!(request.verb, Verb::Abort { .. }) => {
                self.abort_here(request, trouble).await
            }
            Err(error) => Err(error),
        }
    }

    async fn try_change(&self, request: &Request) -> Result<(), ControlError> {
        let version = self.meet().await?;
        let mut version = self.contribute(version).await?;
        for _ in 0..ATTEMPTS {
            let state = match self.decide(request)? {
                Try::Write(state) => state,
                Try::Nothing => return Ok(()),
            };
            match self.write(version, state).await? {
                Replaced::Done(version) => return self.settle(version).await,
                Replaced::Lost => version = self.meet().await?,
            }
        }
        Err(SharedTrouble::Busy.into())
    }

    /// The change is made; what it settles, such as a disputed abort that it confirms, is settled
    /// with it.
    async fn settle(&self, version: Version) -> Result<(), ControlError> {
        match self.contribute(version).await {
            Ok(_) | Err(SharedTrouble::Busy) => Ok(()),
            Err(trouble) => Err(trouble.into()),
        }
    }

    fn decide(&self, request: &Request) -> Result<Try, ControlError> {
        let live = self.control.live();
        let base = Arc::new(live.kept.rollout.clone());
        let mut kept = live.asked(request, &base)?;
        let now = self.control.now();
        let next = self
            .control
            .next(&live, &mut kept, &base, now, |rollout, terms| {
                Ok(request.verb.apply(rollout, terms)?)
            })?;
        if next == *base {
            return Ok(Try::Nothing);
        }
        Ok(Try::Write(kept.shared_state(next)?))
    }
}
