//! One attempt at an endpoint, and how it ended.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::net::SocketAddr;

use http::{Extensions, HeaderMap, Response, StatusCode};
use tower_affinity_core::GroupName;
use tracing::Span;
use tracing::field::Empty;

use super::body::BalanceBody;
use super::error::{Error, Unserved};
use super::further::Further;
use super::groups::Groups;
use super::lease::Lease;
use super::outcome::Outcome;
use super::settings::Settings;
use super::tunnelled::is_tunnel;
use crate::problem::MISDIRECTED;
use crate::record::{Account, RetryOutcome};
use crate::respond::UpstreamFault;
use crate::tag::correct;
use crate::{Affinity, BoxError, SPANS, ServedBy};

/// An attempt that is under way.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) lease: Lease,
    /// Counts it, if it is not the first.
    pub(super) further: Option<Further>,
}

/// An attempt that brought no answer of the right group.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) harm: Harm,
    /// It still has its place at the endpoint.
    pub(super) attempt: Attempt,
}

impl Failure {
    /// The error to answer where there is no further attempt.
    pub(super) fn answer(self, settings: &Settings) -> Error {
        let lease = &self.attempt.lease;
        let tried = [lease.endpoint().address()];
        let groups = &settings.groups;
        self.harm.answer(self.error, groups, lease.group(), &tried)
    }
}

/// What an attempt that failed may have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    /// Nothing: the endpoint was not reached, and would not be at once.
    Unreached,
    /// Nothing: the endpoint has seen nothing of the request.
    Unsent,
    /// Nothing: the endpoint serves another group, and did not carry the request out.
    Misdirected,
    /// The endpoint may have carried the request out.
    Unknown,
    /// More attempts would fail too, or nobody knows better.
    Final,
}

impl Attempt {
    /// An attempt at the endpoint of `lease`.
    pub(super) fn new(lease: Lease) -> Self {
        Self {
            lease,
            further: None,
        }
    }

    /// Begins: whoever logs or traces the request is told.
    pub(super) fn begin(&self, extensions: &Extensions) -> Span {
        let endpoint = self.lease.endpoint().address();
        let account = Account::of(extensions);
        let nth = account.map(|account| account.attempt(endpoint));
        tracing::debug_span!(
            target: SPANS,
            "affinity.attempt",
            otel.kind = "client",
            deployment.id = self.lease.group().as_str(),
            server.address = %endpoint.ip(),
            server.port = endpoint.port(),
            http.request.resend_count = nth.filter(|nth| *nth > 1).map(|nth| nth - 1),
            http.response.status_code = Empty,
            error.type = Empty,
        )
    }

    /// Tells an endpoint that serves in place of the session's own that it does.
    pub(super) fn tell(&self, headers: &mut HeaderMap, extensions: &mut Cow<'_, Extensions>) {
        let Some(served) = self.lease.bound_to() else {
            return;
        };
        let affinity: Option<&Affinity> = extensions.get();
        if let Some(affinity) = affinity.and_then(|affinity| affinity.left_for(served)) {
            correct(headers, &affinity);
            extensions.to_mut().insert(affinity);
        }
    }

    /// The endpoint's service could not take the request.
    pub(super) fn refused(self, settings: &Settings, error: BoxError) -> Failure {
        let harm = match Harm::of(&error) {
            Harm::Unreached => Harm::Unreached,
            // it was never called
            _ => Harm::Unsent,
        };
        self.fail(settings, error, harm)
    }

    /// The endpoint's service failed.
    pub(super) fn failed(self, settings: &Settings, error: BoxError) -> Failure {
        let harm = Harm::of(&error);
        self.fail(settings, error, harm)
    }

    /// The endpoint's service answered.
    pub(super) fn answered<R>(
        self,
        settings: &Settings,
        mut response: Response<R>,
    ) -> Result<Response<BalanceBody<R>>, Failure> {
        if response.status() == StatusCode::MISDIRECTED_REQUEST
            && response.headers().contains_key(MISDIRECTED)
        {
            return Err(self.misdirected(settings));
        }
        let outcome = Outcome::Answered(response.status());
        settings.groups.note(&self.lease, outcome);
        if let Some(further) = self.further {
            further.end(RetryOutcome::Success);
        }
        if let Some(endpoint) = self.lease.bound_to() {
            let served = ServedBy::new(endpoint.clone());
            response.extensions_mut().insert(served);
        }
        if is_tunnel(&response) {
            // the body ends at once, so what lasts as long as the tunnel hangs on the lease
            response.extensions_mut().insert(self.lease.clone());
        }
        Ok(response.map(|body| BalanceBody::new(body, self.lease)))
    }

    fn fail(self, settings: &Settings, error: BoxError, harm: Harm) -> Failure {
        if let Some(outcome) = Outcome::of(&error) {
            settings.groups.note(&self.lease, outcome);
            // who cannot be reached is ejected at once, which is logged
            if harm != Harm::Unreached {
                let (group, address) = (self.lease.group(), self.lease.endpoint().address());
                tracing::info!(%group, %address, outcome = outcome.as_str(), "endpoint failed a request");
            }
        }
        self.end(Error::Endpoint(error), harm)
    }

    fn misdirected(self, settings: &Settings) -> Failure {
        settings.groups.note(&self.lease, Outcome::WrongGroup);
        let group = self.lease.group().clone();
        settings.recorder.wrong_group(&group);
        let address = self.lease.endpoint().address();
        tracing::warn!(%group, %address, "endpoint serves another group");
        self.end(Unserved::WrongGroup(group).into(), Harm::Misdirected)
    }

    fn end(mut self, error: Error, harm: Harm) -> Failure {
        if let Some(further) = self.further.take() {
            further.end(RetryOutcome::Failure);
        }
        Failure {
            error,
            harm,
            attempt: self,
        }
    }
}

impl Harm {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Unreached => "unreached",
            Self::Unsent => "unsent",
            Self::Misdirected => "wrong_group",
            Self::Unknown => "failed",
            Self::Final => "final",
        }
    }

    /// The error to answer after all of `tried` were asked. If the last of them was not reached and
    /// nobody else is left to ask, no endpoint of the group is ready, whatever the checks know.
    pub(super) fn answer(
        self,
        error: Error,
        groups: &Groups,
        group: &GroupName,
        tried: &[SocketAddr],
    ) -> Error {
        if self != Self::Unreached || groups.has_others(group, tried) {
            return error;
        }
        tracing::debug!(%group, "no endpoint can be reached");
        Unserved::NoReadyEndpoint(group.clone()).into()
    }

    /// What the leaf says by its error. Of what it does not name, nothing is known.
    fn of(error: &BoxError) -> Self {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&**error);
        while let Some(error) = cause {
            if let Some(fault) = error.downcast_ref() {
                return match fault {
                    UpstreamFault::Connect => Self::Unreached,
                    UpstreamFault::Unsent => Self::Unsent,
                    UpstreamFault::Closed | UpstreamFault::Timeout => Self::Unknown,
                    UpstreamFault::Protocol
                    | UpstreamFault::Declined
                    | UpstreamFault::RequestBody => Self::Final,
                };
            }
            cause = error.source();
        }
        Self::Final
    }
}
