//! The layers as one simulated replica has them, and its requests and answers on the wire.

use std::sync::{Arc, Mutex};

use http::header::{CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderValue, Request, Response};
use tower::{Layer, Service};
use tower_affinity::core::{
    EndpointId, EndpointRef, GroupName, Level, OnGone, OnStep, Outcomes, Policy, Readiness, Ready,
    Timestamp,
};
use tower_affinity::tag::GroupTag;
use tower_affinity::wire::Scope;
use tower_affinity::{AffinityLayer, AffinityService, GroupTagLayer, Rollouts, ServedBy};
use tower_affinity_testing::sim::{self, Answered, Exchange, Sees, View};
use tower_affinity_testing::{HandClock, START, rollout};

use crate::support::{App, Body, COOKIE_NAME, ask, at_once};

const SCOPES: [(Level, OnGone, OnStep); 9] = [
    (Level::Group, OnGone::Move, OnStep::Keep),
    (Level::Group, OnGone::Move, OnStep::Reassign),
    (Level::Group, OnGone::Strict, OnStep::Keep),
    (Level::Group, OnGone::Strict, OnStep::Reassign),
    (Level::Endpoint, OnGone::Move, OnStep::Keep),
    (Level::Endpoint, OnGone::Move, OnStep::Reassign),
    (Level::Endpoint, OnGone::Strict, OnStep::Keep),
    (Level::Endpoint, OnGone::Strict, OnStep::Reassign),
    (Level::Follow, OnGone::Move, OnStep::Keep),
];

/// The path of the scope that asks for `policy`.
fn path(policy: &Policy) -> String {
    let (gone, step) = (policy.on_gone, policy.on_step);
    let place = |scope: &(Level, OnGone, OnStep)| *scope == (policy.level, gone, step);
    match (policy.level, SCOPES.iter().position(place)) {
        (Level::None, _) => "/none".to_owned(),
        (Level::Connection, _) => "/connection".to_owned(),
        (Level::Follow, _) => format!("/{}", SCOPES.len() - 1),
        (Level::Group | Level::Endpoint | Level::Version, place) => format!("/{}", place.unwrap()),
    }
}

/// The simulated replica's view of what is ready.
#[derive(Clone)]
struct Seen(Arc<Mutex<Option<View>>>);

impl Seen {
    fn view(&self) -> View {
        self.0.lock().unwrap().expect("nothing was seen yet")
    }
}

impl Readiness for Seen {
    fn of(&self, group: &GroupName) -> Ready {
        self.view().of(group)
    }

    fn has(&self, group: &GroupName, endpoint: &EndpointRef) -> bool {
        self.view().has(group, endpoint)
    }

    fn endpoint_ids(&self, group: &GroupName) -> Option<Arc<[EndpointId]>> {
        self.view().endpoint_ids(group)
    }
}

/// The layers as one simulated replica has them.
pub(super) struct Replica {
    clock: HandClock,
    rollouts: Rollouts,
    ready: Seen,
    app: App,
    service: AffinityService<GroupTag<App>>,
}

impl Replica {
    pub(super) fn new(epoch: usize) -> Self {
        let clock = HandClock::at(Timestamp::from_secs(START));
        let rollouts = Rollouts::fixed(rollout(1, &[("g0", 1)]));
        let (ready, app) = (Seen(Arc::default()), App::new());
        let mut builder = AffinityLayer::builder()
            .keyring(sim::keyring(epoch))
            .service("checkout")
            .rollout(rollouts.clone())
            .readiness(ready.clone())
            .clock(clock.clone());
        let scope = |path: &str, level| Scope::new(path.parse().unwrap()).level(level);
        for (nth, (level, on_gone, on_step)) in SCOPES.into_iter().enumerate() {
            let scope = scope(&format!("/{nth}"), level);
            builder = builder.scope(scope.on_gone(on_gone).on_step(on_step));
        }
        let builder = builder
            .scope(scope("/connection", Level::Connection))
            .scope(scope("/none", Level::None));
        let layer = builder.build().unwrap();
        Self {
            service: layer.layer(GroupTagLayer::new().layer(app.clone())),
            clock,
            rollouts,
            ready,
            app,
        }
    }

    /// From now on it knows and sees what the simulated one did.
    fn sees(&self, seen: &Sees) {
        self.clock.set(seen.now);
        *self.ready.0.lock().unwrap() = Some(seen.ready);
        if *self.rollouts.current() != seen.rollout {
            let update = self.rollouts.update(|_| Ok::<_, ()>(seen.rollout.clone()));
            update.unwrap();
        }
    }

    /// The answer, and the headers that the application got.
    pub(super) fn play(&mut self, exchange: &Exchange) -> (Response<Body>, Option<HeaderMap>) {
        self.sees(&exchange.seen);
        let headers = said(exchange.answer.as_ref());
        let served_by = exchange.answer.as_ref().and_then(|a| a.served_by.clone());
        self.app.answers(move |_| {
            let mut response = Response::new(Body::default());
            *response.headers_mut() = headers.clone();
            if let Some(endpoint) = served_by.clone() {
                response.extensions_mut().insert(ServedBy::new(endpoint));
            }
            response
        });
        let mut ready = tokio_test::task::spawn(());
        let service = &mut self.service;
        let polled = ready.enter(|cx, _| Service::<Request<Body>>::poll_ready(service, cx));
        assert!(polled.is_ready(), "the layer is not ready");
        let answer = self.service.call(request(exchange));
        if let Some(answered) = &exchange.answer {
            self.sees(&answered.seen);
        }
        let response = at_once(answer).unwrap();
        let got = self.app.last().map(|request| request.headers().clone());
        (response, got)
    }
}

fn request(exchange: &Exchange) -> Request<Body> {
    let cookies = exchange.pins.iter();
    let cookies: Vec<String> = cookies.map(|pin| format!("{COOKIE_NAME}={pin}")).collect();
    let mut request = ask("GET", &path(&exchange.policy), &[]);
    let headers = request.headers_mut();
    if !cookies.is_empty() {
        headers.insert(COOKIE, cookies.join("; ").parse().unwrap());
    }
    if let Some(grant) = &exchange.grant {
        headers.insert("affinity-override", grant.parse().unwrap());
    }
    request
}

/// What the application answers.
fn said(answer: Option<&Answered>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(answer) = answer else { return headers };
    for (word, is_said) in [
        ("end", answer.said.end),
        ("release", answer.said.release),
        ("moved-seen", answer.said.moved_seen),
    ] {
        if is_said {
            headers.append("affinity-session", HeaderValue::from_static(word));
        }
    }
    let outcomes = answer.said.outcomes;
    for (word, flag) in [
        ("failure", Outcomes::FAILED),
        ("success", Outcomes::COMPLETED),
    ] {
        if outcomes.contains(flag) {
            headers.append("affinity-outcome", HeaderValue::from_static(word));
        }
    }
    if answer.streams {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    }
    headers
}
