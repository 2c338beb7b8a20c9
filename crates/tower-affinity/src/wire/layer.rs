//! [`PinLayer`] and its settings.

use std::sync::Arc;

use tower_affinity_core::{Clock, DrawSalt, Lifetimes, PinCodec};
use tower_layer::Layer;

use super::scope::{PathPattern, Scope};
use super::service::PinService;
use super::shared::{Carriers, Wire};
use crate::callers::Callers;
use crate::carrier::cookie::Names;
use crate::carrier::{Carrier, CookieAttributes};
use crate::clock::SystemClock;
use crate::misplaced::Misplaced;
use crate::record::Recorder;

/// Reads pins from requests and writes them on answers; see the [module](super).
#[derive(Clone, Debug)]
#[must_use]
pub struct PinLayer {
    wire: Arc<Wire>,
}

impl PinLayer {
    /// A layer with one scope for all paths, both carriers, the default cookie and lifetimes.
    pub fn new(codec: Arc<PinCodec>) -> Self {
        let service = codec.service();
        let cookie = CookieAttributes::new(service, true);
        Self {
            wire: Arc::new(Wire {
                salt: DrawSalt::new(service),
                cookie_names: Names::new(&[]),
                own_names: Names::new(&[]),
                cookie,
                former_cookies: Vec::new(),
                codec,
                scopes: vec![Arc::new(Scope::new(PathPattern::all()))],
                carriers: Carriers {
                    cookie: true,
                    header: true,
                },
                callers: None,
                clock: Arc::new(SystemClock::new()),
                recorder: Recorder::default(),
                takes_hops: false,
                misplaced: Misplaced::default(),
            }),
        }
        .with(|_| {})
    }

    /// The scopes; the first that matches a path counts, and a path in none has no affinity.
    pub fn scopes(self, scopes: impl IntoIterator<Item = Scope>, lifetimes: Lifetimes) -> Self {
        let scopes = scopes.into_iter().map(|mut scope| {
            scope.lifetimes(lifetimes);
            Arc::new(scope)
        });
        let scopes = scopes.collect();
        self.with(|wire| wire.scopes = scopes)
    }

    /// How pins may travel; by default both ways. Without the cookie none is ever set.
    pub fn carriers(self, carriers: &[Carrier]) -> Self {
        self.with(|wire| {
            wire.carriers = Carriers {
                cookie: carriers.contains(&Carrier::Cookie),
                header: carriers.contains(&Carrier::Header),
            };
        })
    }

    /// The cookie's name and attributes.
    pub fn cookie(self, cookie: CookieAttributes) -> Self {
        self.with(|wire| wire.cookie = cookie)
    }

    /// Cookies of earlier configurations: still read, and cleared along with the present one.
    pub fn former_cookies(self, cookies: Vec<CookieAttributes>) -> Self {
        self.with(|wire| wire.former_cookies = cookies)
    }

    /// The services whose pins are read as keys; by default none.
    pub fn callers(self, callers: Callers) -> Self {
        self.with(|wire| wire.callers = Some(Arc::new(callers)))
    }

    /// Where the time comes from; by default a [`SystemClock`].
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        self.with(|wire| wire.clock = clock)
    }

    /// What counts pins.
    pub fn recorder(self, recorder: Recorder) -> Self {
        self.with(|wire| wire.recorder = recorder)
    }

    /// What a peer has decided is served as it says: this process is one of the groups.
    pub(crate) fn takes_hops(self) -> Self {
        self.with(|wire| wire.takes_hops = true)
    }

    fn with(mut self, change: impl FnOnce(&mut Wire)) -> Self {
        let wire = Arc::make_mut(&mut self.wire);
        change(wire);
        let all = || std::iter::once(&wire.cookie).chain(&wire.former_cookies);
        let pins: Vec<Box<str>> = all().map(|cookie| cookie.as_name().into()).collect();
        let overrides = all().map(|cookie| cookie.of_override(wire.codec.service()));
        let mut overrides: Vec<Box<str>> = overrides.map(|c| c.as_name().into()).collect();
        overrides.dedup();
        let own: Vec<Box<str>> = pins.iter().cloned().chain(overrides).collect();
        wire.own_names = Names::new(&own).into_owned();
        wire.cookie_names = Names::new(&pins).into_owned();
        self
    }
}

impl<S> Layer<S> for PinLayer {
    type Service = PinService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        PinService::new(inner, Arc::clone(&self.wire))
    }
}
