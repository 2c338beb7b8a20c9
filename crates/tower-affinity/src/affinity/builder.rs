//! Collects and checks what [`AffinityLayer`] needs.

use std::sync::Arc;

use thiserror::Error;
use tower_affinity_core::{
    Clock, CodeCollision, GroupName, InvalidName, Level, Lifetimes, PinCodec, PinStore, Readiness,
    ServiceName,
};

use super::AffinityLayer;
use crate::assign::AssignLayer;
use crate::carrier::{Carrier, CookieAttributes};
use crate::clock::SystemClock;
use crate::experiments::Experiments;
use crate::record::Recorder;
use crate::wire::{PathPattern, PinLayer, Scope};
use crate::{Callers, Expiries, Keyring, Rollouts};

/// What an [`AffinityLayer`] cannot be built from.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Something that has no default was not given.
    #[error("{0} was not given")]
    Missing(&'static str),
    /// The service's name has not the form of one.
    #[error("the service {name:?} cannot be used")]
    Service {
        /// The name.
        name: String,
        /// What is accepted.
        source: InvalidName,
    },
    /// Two groups of the rollout cannot be told apart in pins.
    #[error(transparent)]
    Codes(#[from] CodeCollision),
    /// A scope hands pins on that are known only once an endpoint has answered.
    #[error("the scope {path} cannot propagate sessions that are bound to endpoints")]
    Propagate {
        /// The paths of the scope.
        path: PathPattern,
    },
    /// A scope binds sessions to endpoints in a process that serves one group: whichever process of it
    /// the balancer in front has chosen serves the request.
    #[error(
        "the scope {path} has the level `endpoint`, which only a gateway can keep; use `group`"
    )]
    Endpoint {
        /// The paths of the scope.
        path: PathPattern,
    },
    /// The service is named as a caller of itself: its pins are no keys here.
    #[error("the service {0:?} cannot be its own caller: its pins are pins here")]
    CallsItself(String),
    /// A setting of a scope could never take effect.
    #[error("the scope {path} cannot be used: {why}")]
    Scope {
        /// Its paths.
        path: PathPattern,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The system's random generator does not answer.
    #[error("the system's random generator does not answer")]
    Random(#[from] getrandom::Error),
}

/// Builds an [`AffinityLayer`]; see [`AffinityLayer::builder`].
#[derive(Clone, Default)]
#[must_use]
pub struct AffinityBuilder {
    keyring: Option<Keyring>,
    service: Option<String>,
    rollouts: Option<Rollouts>,
    serving: Option<GroupName>,
    readiness: Option<Arc<dyn Readiness>>,
    scopes: Vec<Scope>,
    lifetimes: Lifetimes,
    carriers: Option<Vec<Carrier>>,
    callers: Option<Callers>,
    cookie: Option<CookieAttributes>,
    former_cookies: Vec<CookieAttributes>,
    clock: Option<Arc<dyn Clock>>,
    recorder: Recorder,
    expiries: Expiries,
    store: Option<Arc<dyn PinStore>>,
    experiments: Option<Experiments>,
}

impl AffinityBuilder {
    /// The keys that sign and verify pins. Required.
    pub fn keyring(self, keyring: impl Into<Keyring>) -> Self {
        Self {
            keyring: Some(keyring.into()),
            ..self
        }
    }

    /// The name of the service: the audience of its pins and part of the cookie's name. Required.
    pub fn service(self, name: impl Into<String>) -> Self {
        Self {
            service: Some(name.into()),
            ..self
        }
    }

    /// The rollout, or the handle through which a source feeds it. Required.
    pub fn rollout(self, rollouts: impl Into<Rollouts>) -> Self {
        Self {
            rollouts: Some(rollouts.into()),
            ..self
        }
    }

    /// The group that this process is, where a balancer and not a gateway is in front: new
    /// sessions are its own, and a request for another group is answered 421, or forwarded where the
    /// layer is given to a [`PeerForwardLayer`](crate::PeerForwardLayer). By default the layer
    /// decides, and the application branches on the decision. No scope has the level `endpoint` then.
    pub fn serving(self, group: GroupName) -> Self {
        Self {
            serving: Some(group),
            ..self
        }
    }

    /// Which groups have a ready endpoint; by default all.
    pub fn readiness(self, ready: impl Readiness + 'static) -> Self {
        Self {
            readiness: Some(Arc::new(ready)),
            ..self
        }
    }

    /// One more scope; the first that matches counts. By default one scope has all paths.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// How long pins live; by default 30 minutes idle and 4 hours in all.
    pub fn lifetimes(self, lifetimes: Lifetimes) -> Self {
        Self { lifetimes, ..self }
    }

    /// How pins may travel; by default in the cookie and in the header.
    pub fn carriers(self, carriers: impl Into<Vec<Carrier>>) -> Self {
        Self {
            carriers: Some(carriers.into()),
            ..self
        }
    }

    /// The services whose sessions are told apart here by their own pins; by default none.
    pub fn callers(self, callers: Callers) -> Self {
        Self {
            callers: Some(callers),
            ..self
        }
    }

    /// The cookie's name and attributes; by default `__Host-affinity-SERVICE`, `Secure`,
    /// `HttpOnly`, `SameSite=Lax`.
    pub fn cookie(self, cookie: CookieAttributes) -> Self {
        Self {
            cookie: Some(cookie),
            ..self
        }
    }

    /// Cookies of earlier configurations that clients may still hold; by default none.
    pub fn former_cookies(self, cookies: Vec<CookieAttributes>) -> Self {
        Self {
            former_cookies: cookies,
            ..self
        }
    }

    /// Where the time comes from; by default a [`SystemClock`].
    pub fn clock(self, clock: impl Clock) -> Self {
        Self {
            clock: Some(Arc::new(clock)),
            ..self
        }
    }

    /// What counts requests and pins; by default the global recorder of the `metrics` crate.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// What is told until when pins are valid; by default nobody reads it.
    pub fn expiries(self, expiries: Expiries) -> Self {
        Self { expiries, ..self }
    }

    /// Keeps assignments in a store as well, for example to move sessions by force, to choose by live
    /// sessions, or to serve clients that carry nothing but an id that a scope names. By default only
    /// clients keep them. Where the store can be slow or away, it is to be a
    /// [`GuardedStore`](crate::store::GuardedStore).
    pub fn store(self, store: impl PinStore) -> Self {
        Self {
            store: Some(Arc::new(store)),
            ..self
        }
    }

    /// The experiments that sessions take part in; by default there are none.
    pub fn experiments(self, experiments: Experiments) -> Self {
        Self {
            experiments: Some(experiments),
            ..self
        }
    }

    /// The layer.
    ///
    /// # Errors
    ///
    /// If something required is missing or cannot be used.
    pub fn build(self) -> Result<AffinityLayer, BuildError> {
        crate::random::check()?;
        let keyring = self.keyring.ok_or(BuildError::Missing("a keyring"))?;
        let name = self.service.ok_or(BuildError::Missing("a service"))?;
        let rollouts = self.rollouts.ok_or(BuildError::Missing("a rollout"))?;
        let service: ServiceName = match name.parse() {
            Ok(service) => service,
            Err(source) => return Err(BuildError::Service { name, source }),
        };
        if self
            .callers
            .as_ref()
            .is_some_and(|callers| callers.names(&name))
        {
            return Err(BuildError::CallsItself(name));
        }
        let cookie = self
            .cookie
            .unwrap_or_else(|| CookieAttributes::new(&service, true));
        let codec = Arc::new(PinCodec::new(service, keyring.as_core()));
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let mut scopes = self.scopes;
        if scopes.is_empty() {
            scopes.push(Scope::new(PathPattern::all()));
        }
        for scope in &scopes {
            let path = scope.path().clone();
            if scope.propagates_endpoints() {
                return Err(BuildError::Propagate { path });
            }
            if self.serving.is_some() && scope.policy().level == Level::Endpoint {
                return Err(BuildError::Endpoint { path });
            }
            if let Some(why) = scope.without_effect() {
                return Err(BuildError::Scope { path, why });
            }
        }
        let carriers = self
            .carriers
            .unwrap_or_else(|| vec![Carrier::Cookie, Carrier::Header]);
        let mut pin = PinLayer::new(Arc::clone(&codec))
            .scopes(scopes, self.lifetimes)
            .carriers(&carriers)
            .cookie(cookie)
            .former_cookies(self.former_cookies)
            .clock(Arc::clone(&clock))
            .recorder(self.recorder.clone());
        if let Some(callers) = self.callers {
            pin = pin.callers(callers);
        }
        let known = rollouts.current();
        let mut assign = AssignLayer::new(rollouts, codec)?
            .clock(clock)
            .recorder(self.recorder.clone())
            .expiries(self.expiries)
            .hears();
        if let Some(store) = self.store {
            assign = assign.store(store);
        }
        if let Some(experiments) = self.experiments {
            assign = assign.experiments(experiments);
        }
        if let Some(group) = self.serving {
            if known.group(&group).is_none() {
                tracing::warn!(%group, "this process serves a group that the rollout does not know");
            }
            assign = assign.serving(group);
            pin = pin.takes_hops();
        }
        if let Some(ready) = self.readiness {
            assign = assign.readiness(ready);
        }
        Ok(AffinityLayer {
            pin,
            assign,
            recorder: self.recorder,
        })
    }
}

impl std::fmt::Debug for AffinityBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AffinityBuilder")
            .field("keyring", &self.keyring)
            .field("service", &self.service)
            .field("rollouts", &self.rollouts)
            .field("serving", &self.serving)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
