//! A site under test: the layer, an application that writes down what it saw, and clients.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::{Layer, Service};
use tower_affinity::core::{
    self, AbortRequest, AlwaysReady, Clock, GroupId, Lifetimes, PinCodec, Revision, Rollout,
    SessionId, SessionPin, Timestamp,
};
use tower_affinity::{
    Affinity, AffinityBuilder, AffinityLayer, AffinityService, Keyring, Rollouts,
};
use tower_affinity_testing::{HandClock, Jar, START, after, name, rollout};

pub(crate) type Body = Full<Bytes>;

pub(crate) const K1: &str = "k1:5TTK48nkSfEDI7Og9alBBsqR4RW_cVPE0LN2jPHYJr8";
pub(crate) const K2: &str = "k2:0Ky7-oEHjbrJa2aUeMlGyIHfr119_BBx3lFXdhdU_3w";
pub(crate) const COOKIE_NAME: &str = "__Host-affinity-checkout";
/// The idle lifetime by default, in seconds.
pub(crate) const TI: u64 = 1_800;
/// The whole lifetime by default, in seconds.
pub(crate) const TA: u64 = 14_400;

/// An application that answers as it is told and remembers every request.
#[derive(Clone)]
pub(crate) struct App(Arc<Mutex<Script>>);

struct Script {
    seen: Vec<Request<()>>,
    answer: Answer,
}

type Answer = Box<dyn FnMut(&Request<()>) -> Response<Body> + Send>;

impl App {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Script {
            seen: Vec::new(),
            answer: Box::new(|_| Response::new(Full::from("hello"))),
        })))
    }

    /// What it answers from now on.
    pub(crate) fn answers(
        &self,
        answer: impl FnMut(&Request<()>) -> Response<Body> + Send + 'static,
    ) {
        self.0.lock().unwrap().answer = Box::new(answer);
    }

    /// From now on it answers with these headers.
    pub(crate) fn says(&self, status: u16, headers: &'static [(&'static str, &'static str)]) {
        self.answers(move |_| {
            let mut response = Response::new(Full::from("hello"));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                response.headers_mut().append(*name, value.parse().unwrap());
            }
            response
        });
    }

    fn last(&self) -> Option<Request<()>> {
        self.0.lock().unwrap().seen.pop()
    }
}

impl Service<Request<Body>> for App {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let request = request.map(|_| ());
        let mut script = self.0.lock().unwrap();
        let response = (script.answer)(&request);
        script.seen.push(request);
        ready(Ok(response))
    }
}

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

/// An answer that has not arrived yet.
pub(crate) struct OnItsWay {
    answer: <AffinityService<App> as Service<Request<Body>>>::Future,
    forwarded: Option<Request<()>>,
}

impl OnItsWay {
    pub(crate) fn arrive(self) -> Seen {
        Seen {
            response: at_once(self.answer).unwrap(),
            forwarded: self.forwarded,
        }
    }

    /// The group that the application was asked for; `None` if it was not asked.
    pub(crate) fn group(&self) -> Option<String> {
        let affinity = self.forwarded.as_ref()?.extensions().get::<Affinity>()?;
        Some(affinity.group().to_owned())
    }
}

/// An answer as its client gets it, and the request as the application saw it.
pub(crate) struct Seen {
    pub(crate) response: Response<Body>,
    pub(crate) forwarded: Option<Request<()>>,
}

impl Seen {
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(crate) fn body(&self) -> Bytes {
        let whole = at_once(self.response.body().clone().collect());
        whole.unwrap().to_bytes()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.response.headers().get(name)?;
        Some(value.to_str().unwrap())
    }

    pub(crate) fn set_cookies(&self) -> Vec<&str> {
        texts(self.response.headers(), SET_COOKIE.as_str())
    }

    /// The token of the one pin that the answer sets in our cookie; `None` without one.
    pub(crate) fn cookie(&self) -> Option<String> {
        let ours = format!("{COOKIE_NAME}=");
        let mut values = self.set_cookies().into_iter().filter_map(|line| {
            let pair = line.split(';').next()?;
            Some(pair.strip_prefix(&ours)?.to_owned())
        });
        let first = values.next();
        assert_eq!(values.next(), None, "our cookie is set twice");
        first
    }

    pub(crate) fn affinity(&self) -> &Affinity {
        let extension = self.response.extensions().get();
        extension.expect("an answer that went through the layer")
    }

    /// The decision in one line: `pinned/ok@A`.
    pub(crate) fn said(&self) -> String {
        let (kind, cause) = (
            self.affinity().decision().kind,
            self.affinity().decision().cause,
        );
        format!(
            "{}/{}@{}",
            kind.as_str(),
            cause.as_str(),
            self.affinity().group()
        )
    }

    /// Whether nothing at all is written about a pin.
    pub(crate) fn is_silent(&self) -> bool {
        self.set_cookies().is_empty() && self.header("affinity-pin").is_none()
    }

    /// The lines of a header as the application saw them.
    pub(crate) fn forwarded(&self, name: &str) -> Vec<Vec<u8>> {
        let request = self
            .forwarded
            .as_ref()
            .expect("a request that was forwarded");
        let lines = request.headers().get_all(name).into_iter();
        lines.map(|line| line.as_bytes().to_vec()).collect()
    }
}

/// A browser: it keeps cookies and sends them back.
#[derive(Clone, Default)]
pub(crate) struct Browser(pub(crate) Jar);

impl Browser {
    pub(crate) fn get(&mut self, site: &Site) -> Seen {
        self.ask(site, "GET", "/", &[])
    }

    pub(crate) fn ask(
        &mut self,
        site: &Site,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Seen {
        let seen = site.send(self.request(site.clock.now(), method, path, headers));
        self.take(&seen, site.clock.now());
        seen
    }

    pub(crate) fn request(
        &self,
        now: Timestamp,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Request<Body> {
        let mut request = ask(method, path, headers);
        if let Some(cookies) = self.0.header(now) {
            request
                .headers_mut()
                .append(COOKIE, cookies.parse().unwrap());
        }
        request
    }

    pub(crate) fn take(&mut self, seen: &Seen, now: Timestamp) {
        for line in seen.set_cookies() {
            self.0.take(line, now);
        }
    }

    pub(crate) fn token(&self) -> &str {
        self.0.get(COOKIE_NAME).expect("a browser with a pin")
    }
}

pub(crate) fn ask(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, value.as_bytes());
    }
    request.body(Body::default()).unwrap()
}

pub(crate) fn texts<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let lines = headers.get_all(name).into_iter();
    lines.map(|line| line.to_str().unwrap()).collect()
}

pub(crate) fn codec(service: &str, keys: &str) -> PinCodec {
    PinCodec::new(
        service.parse().unwrap(),
        &core::Keyring::parse(keys).unwrap(),
    )
}

/// The value of a future that has nothing to wait for.
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    match tokio_test::task::spawn(future).poll() {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits"),
    }
}
