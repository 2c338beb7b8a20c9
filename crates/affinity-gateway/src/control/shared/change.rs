//! A change of the shared state.

use std::sync::{Arc, mpsc};

use tower_affinity::core::{Replaced, SharedState, Version};

use super::sync::ATTEMPTS;
use super::{Member, SharedTrouble};
use crate::control::{Changed, ControlError, Request, Verb};

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
        let (sender, receiver) = mpsc::sync_channel(1);
        self.shared.runtime.spawn(async move {
            // who has gone away gets no answer; the change is made all the same
            let _ = sender.send(member.change(&request).await);
        });
        // a runtime that ends drops its tasks
        receiver
            .recv()
            .unwrap_or(Err(ControlError::Shared(SharedTrouble::Silent)))
    }

    /// Makes a change: decided on the newest shared state, written by compare-and-set, and decided
    /// anew where another replica was faster. An abort that cannot reach the shared state becomes
    /// a fact of this replica.
    async fn change(&self, request: &Request) -> Result<Changed, ControlError> {
        let _changing = self.shared.changing.lock().await;
        let before = self.control.rollouts().current();
        let made = self.try_change(request).await;
        let trouble = match &made {
            Err(ControlError::Shared(trouble)) => Some(trouble),
            _ => None,
        };
        self.shared.tried(self.control.now(), trouble);
        match made {
            Ok(()) => Ok(Changed {
                before,
                after: self.control.rollouts().current(),
                is_kept: true,
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
        Ok(Try::Write(kept.shared_state(next)))
    }
}
