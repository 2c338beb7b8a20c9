//! Whether and how a request is sent again.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, Request};
use http_body::Body;
use tower_affinity_core::{GroupId, Timestamp};

use super::attempt::{Attempt, Failure, Harm};
use super::error::Error;
use super::further::Further;
use super::groups::Groups;
use super::head::Head;
use super::lease::Lease;
use super::replay::{Replay, ReplayBody};
use super::retries::Retries;
use super::settings::Settings;
use super::wanted::Wanted;
use crate::record::RetryOutcome;
use crate::rollouts::Rollouts;

/// Tells a leaf that the request was sent before: an extension of every request but the first
/// attempt's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Again {
    /// How many attempts there were before.
    pub attempts: u32,
    /// How long ago the first one began. A leaf takes it off the time that it waits for an answer.
    pub elapsed: Duration,
}

/// What is needed to send a request once more.
pub(super) struct Plan<B> {
    head: Head,
    replay: Replay<B>,
    begun: Timestamp,
    tried: Vec<SocketAddr>,
}

impl<B> Plan<B> {
    /// The extensions of the request.
    pub(super) fn extensions(&self) -> &Extensions {
        self.head.extensions()
    }
}

impl<B: Body<Data = Bytes>> Plan<B> {
    /// Keeps what another attempt needs of a request that is not tied to an endpoint yet: of its
    /// extensions, all.
    pub(super) fn begin(
        head: &mut Parts,
        body: B,
        retries: &Retries,
        now: Timestamp,
    ) -> (Self, ReplayBody<B>) {
        let (replay, body) = Replay::begin(body, retries.max_body);
        let plan = Self {
            head: Head::of(head),
            replay,
            begun: now,
            tried: Vec::new(),
        };
        (plan, body)
    }

    /// The next attempt after `failure`, in the same group; or the error to answer.
    pub(super) fn next(
        &mut self,
        settings: &Settings,
        failure: Failure,
    ) -> Result<(Attempt, Request<ReplayBody<B>>), Error> {
        let Failure {
            error,
            harm,
            attempt,
        } = failure;
        if !self.is_wanted(harm) {
            return Err(error);
        }
        let Attempt { lease, .. } = attempt;
        let Settings {
            groups, recorder, ..
        } = settings;
        let (group, address) = (lease.group().clone(), lease.endpoint().address());
        self.tried.push(address);
        let now = groups.now();
        let allowed = self.allow(harm, &lease, settings, now);
        // the place at the endpoint that failed is given back before another is taken
        drop(lease);
        let placed = allowed.and_then(|()| self.place(harm, groups));
        let attempts = self.tried.len();
        match placed {
            Ok((lease, mut request)) => {
                let next = lease.endpoint().address();
                tracing::debug!(%group, %address, %next, attempts, ?harm, "request is sent again");
                let further = Further::begin(group, recorder.clone());
                let attempt = Attempt {
                    further: Some(further),
                    ..Attempt::new(lease)
                };
                request.extensions_mut().insert(Again {
                    attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
                    elapsed: now.since(self.begun),
                });
                Ok((attempt, request))
            }
            Err(outcome) => {
                let reason = outcome.as_str();
                tracing::debug!(%group, %address, attempts, reason, "request is not sent again");
                recorder.retry(&group, outcome);
                Err(match outcome {
                    // a part of its body was taken, whatever the leaf says
                    RetryOutcome::NotReplayable => error,
                    _ => harm.answer(error, groups, &group, &self.tried),
                })
            }
        }
    }

    /// Whether another attempt does no harm and may help.
    fn is_wanted(&self, harm: Harm) -> bool {
        match harm {
            Harm::Unreached | Harm::Unsent | Harm::Misdirected => true,
            Harm::Unknown => self.head.is_idempotent(),
            Harm::Final => false,
        }
    }

    /// Whether there may be another attempt, and takes it out of the budget of the group.
    fn allow(
        &self,
        harm: Harm,
        failed: &Lease,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<(), RetryOutcome> {
        let retries = &settings.retries;
        if self.tried.len() > retries.max as usize {
            return Err(RetryOutcome::Limit);
        }
        // an endpoint that says that it took nothing is believed only if nothing was taken from us
        let may_repeat = harm == Harm::Misdirected || self.head.is_idempotent();
        if !self.replay.is_whole() || !(may_repeat || self.replay.is_untouched()) {
            return Err(RetryOutcome::NotReplayable);
        }
        let elapsed = now.since(self.begun);
        if retries.within.is_some_and(|most| elapsed >= most) {
            return Err(RetryOutcome::Deadline);
        }
        let newest = settings.rollouts.as_ref().map(Rollouts::current);
        let is_aborted = |id: &GroupId| newest.is_some_and(|newest| newest.is_aborted(id, now));
        if Wanted::of(self.extensions()).is_some_and(|wanted| is_aborted(wanted.id)) {
            return Err(RetryOutcome::Aborted);
        }
        if failed.budget().attempt(now, retries) {
            Ok(())
        } else {
            Err(RetryOutcome::Budget)
        }
    }

    /// A place at another endpoint of the group, or at the same if that can help.
    fn place(
        &self,
        harm: Harm,
        groups: &Groups,
    ) -> Result<(Lease, Request<ReplayBody<B>>), RetryOutcome> {
        let wanted = Wanted::of(self.extensions()).ok_or(RetryOutcome::NoEndpoint)?;
        let avoid = match (wanted.bound, harm) {
            // it lives, and what it has of the session no other one has
            (Some(_), Harm::Unsent | Harm::Unknown) => &[][..],
            _ => &self.tried,
        };
        let lease = groups.acquire(&Wanted { avoid, ..wanted });
        let lease = lease.map_err(|_| RetryOutcome::NoEndpoint)?;
        let is_new = !self.tried.contains(&lease.endpoint().address());
        if !is_new && matches!(harm, Harm::Unreached | Harm::Misdirected) {
            return Err(RetryOutcome::NoEndpoint);
        }
        let body = self.replay.again();
        let request = body.and_then(|body| self.head.request(body));
        Ok((lease, request.ok_or(RetryOutcome::NotReplayable)?))
    }
}

impl<B> fmt::Debug for Plan<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("head", &self.head)
            .field("tried", &self.tried)
            .finish_non_exhaustive()
    }
}
