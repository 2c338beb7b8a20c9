//! One process with the layer in it.

use std::time::Duration;

use http::Request;
use tower::{Layer, Service};
use tower_affinity::core::{
    self, AbortRequest, AlwaysReady, Clock, GroupId, Lifetimes, PinCodec, Revision, Rollout,
    SessionId, SessionPin, Timestamp,
};
use tower_affinity::{AffinityBuilder, AffinityLayer, AffinityService, Keyring, Rollouts};
use tower_affinity_testing::{HandClock, START, after, name, rollout};

use super::{App, Body, COOKIE_NAME, K1, OnItsWay, Seen, TI, ask, codec};

/// One process: a layer with its own rollout around an application.
pub(crate) struct Site {
    pub(crate) clock: HandClock,
    pub(crate) rollouts: Rollouts,
    pub(crate) app: App,
    pub(crate) layer: AffinityLayer,
    codec: PinCodec,
    service: AffinityService<App>,
}

impl Site {
    /// Groups A and B with weights 90 and 10 under revision 10, everything else as by default.
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(change: impl FnOnce(AffinityBuilder) -> AffinityBuilder) -> Self {
        let clock = HandClock::at(Timestamp::from_secs(START));
        Self::of(clock, rollout(10, &[("A", 90), ("B", 10)]), K1, change)
    }

    pub(crate) fn of(
        clock: HandClock,
        rollout: impl Into<Rollouts>,
        keys: &str,
        change: impl FnOnce(AffinityBuilder) -> AffinityBuilder,
    ) -> Self {
        let (rollouts, app) = (rollout.into(), App::new());
        let builder = AffinityLayer::builder()
            .keyring(Keyring::parse(keys).unwrap())
            .service("checkout")
            .rollout(rollouts.clone())
            .clock(clock.clone());
        let layer = change(builder).build().unwrap();
        Self {
            service: layer.layer(app.clone()),
            codec: codec("checkout", keys),
            clock,
            rollouts,
            app,
            layer,
        }
    }

    /// Sends a request; neither the layer nor the application may wait.
    pub(crate) fn send(&self, request: Request<Body>) -> Seen {
        self.start(request).arrive()
    }

    /// Sends a request whose answer is on its way until the test lets it arrive. The decision has
    /// been made then, and the application has been asked.
    pub(crate) fn start(&self, request: Request<Body>) -> OnItsWay {
        let mut service = self.service.clone();
        let mut ready = tokio_test::task::spawn(());
        let polled = ready.enter(|cx, _| Service::<Request<Body>>::poll_ready(&mut service, cx));
        assert!(polled.is_ready(), "the layer is not ready");
        let answer = service.call(request);
        OnItsWay {
            answer,
            forwarded: self.app.last(),
        }
    }

    pub(crate) fn get(&self, headers: &[(&str, &str)]) -> Seen {
        self.send(ask("GET", "/", headers))
    }

    /// A request with that token in our cookie.
    pub(crate) fn get_with(&self, token: &str) -> Seen {
        self.get(&[("cookie", &format!("{COOKIE_NAME}={token}"))])
    }

    /// A pin to a group that is issued now under the present revision.
    pub(crate) fn pin(&self, group: &str) -> SessionPin {
        let revision = self.rollouts.current().revision();
        SessionPin::new(
            SessionId::from_random(0x5e55_10f1),
            GroupId::new(name(group), 1),
            revision,
            self.clock.now(),
            Lifetimes::default(),
        )
    }

    pub(crate) fn seal(&self, pin: &SessionPin) -> String {
        self.codec.seal(pin).token
    }

    pub(crate) fn token(&self, group: &str) -> String {
        self.seal(&self.pin(group))
    }

    /// Opens a token that the site has issued, also one that has expired since.
    pub(crate) fn open(&self, token: &str) -> SessionPin {
        let now = self.clock.now().as_secs();
        let moments = (0..16).map(|back| Timestamp::from_secs(now - back * TI / 2));
        let opened = moments
            .map(|at| self.codec.open(token.as_bytes(), at, Lifetimes::default()))
            .find_map(Result::ok);
        let mut pin = opened.expect("the site's own token").pin;
        let rollout = self.rollouts.current();
        self.codec.codes(&rollout).unwrap().resolve(&mut pin);
        pin
    }

    pub(crate) fn advance(&self, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
    }

    /// Publishes a change of the rollout.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&Rollout, core::Change) -> Result<Rollout, core::Refusal>,
    ) {
        let now = self.clock.now();
        self.rollouts
            .update(|rollout| change(rollout, after(rollout, now)))
            .expect("a change that is allowed");
    }

    pub(crate) fn abort(&self, group: &str) {
        self.abort_with(group, &AbortRequest::default());
    }

    pub(crate) fn abort_with(&self, group: &str, request: &AbortRequest) {
        self.change(|rollout, change| rollout.abort(&name(group), request, &AlwaysReady, change));
    }

    pub(crate) fn revision(&self) -> Revision {
        self.rollouts.current().revision()
    }
}
