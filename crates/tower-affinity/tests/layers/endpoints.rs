//! Level `endpoint` through the whole stack of a gateway: which endpoint a session's requests reach.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Response;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity::balance::{
    BalanceBody, Endpoint, EndpointState, GroupBalance, Groups, ReplayBody, Source,
};
use tower_affinity::core::{AbortRequest, AlwaysReady, Level, Timestamp};
use tower_affinity::record::MetricsBody;
use tower_affinity::respond::UpstreamFault;
use tower_affinity::wire::{AssignBy, Scope};
use tower_affinity::{Affinity, AffinityLayer, GatewayLayer, Keyring, Rollouts, ServedBy};
use tower_affinity_testing::{HandClock, START, after, name, rollout};

use crate::support::{Body, K1, K2, TI, ask, at_once};

type Stack = BoxCloneSyncService<
    http::Request<Body>,
    Response<MetricsBody<BalanceBody<Body>>>,
    std::convert::Infallible,
>;

/// Groups A and B with four endpoints each, and any number of gateways in front of them.
struct Stage {
    clock: HandClock,
    rollouts: Rollouts,
    groups: Groups,
    dead: Arc<Mutex<BTreeSet<SocketAddr>>>,
}

/// One gateway.
struct Replica(Stack);

struct Answer {
    status: u16,
    /// The endpoint that served.
    endpoint: Option<SocketAddr>,
    /// The decision in one line: `pinned/ok@A`.
    said: String,
    /// The decision as that endpoint was told.
    told: Option<String>,
    /// The pin that it sets.
    pin: Option<String>,
    response: Response<MetricsBody<BalanceBody<Body>>>,
}

/// A client that keeps its pin.
#[derive(Clone, Default)]
struct Client(String);

impl Client {
    fn get(&mut self, replica: &Replica) -> Answer {
        self.ask(replica, "/")
    }

    fn ask(&mut self, replica: &Replica, path: &str) -> Answer {
        let answer = replica.ask(path, &[("affinity-pin", &self.0)]);
        if let Some(pin) = &answer.pin {
            self.0.clone_from(pin);
        }
        answer
    }
}

impl Replica {
    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let response = at_once(self.0.clone().oneshot(ask("GET", path, headers))).unwrap();
        let affinity = response.extensions().get::<Affinity>().unwrap();
        let (kind, cause) = (affinity.decision().kind, affinity.decision().cause);
        let text = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        Answer {
            status: response.status().as_u16(),
            endpoint: text("x-endpoint").map(|at| at.parse().unwrap()),
            said: format!("{}/{}@{}", kind.as_str(), cause.as_str(), affinity.group()),
            told: text("x-told"),
            pin: text("affinity-pin"),
            response,
        }
    }
}

impl Stage {
    fn new() -> Self {
        let clock = HandClock::at(Timestamp::from_secs(START));
        let groups = Groups::new(clock.clone());
        for (group, net) in [("A", 1), ("B", 2)] {
            groups.update(&name(group), (1..=4).map(|n| address(net, n)));
        }
        Self {
            rollouts: Rollouts::fixed(rollout(10, &[("A", 100), ("B", 0)])),
            dead: Arc::default(),
            clock,
            groups,
        }
    }

    fn replica(&self, keys: &str) -> Replica {
        let scope = |path: &str| Scope::new(path.parse().unwrap());
        let affinity = AffinityLayer::builder()
            .keyring(Keyring::parse(keys).unwrap())
            .service("checkout")
            .rollout(self.rollouts.clone())
            .readiness(self.groups.clone())
            .clock(self.clock.clone())
            .scope(scope("/group/*"))
            .scope(
                scope("/keyed/*")
                    .level(Level::Endpoint)
                    .assign(AssignBy::Header("x-user".parse().unwrap())),
            )
            .scope(scope("/*").level(Level::Endpoint))
            .build()
            .unwrap();
        let dead = Arc::clone(&self.dead);
        let connect = move |endpoint: &Arc<Endpoint>| {
            let address = endpoint.address();
            let reached = !dead.lock().unwrap().contains(&address);
            service_fn(move |request: http::Request<ReplayBody<Body>>| {
                let told = &request.headers()["affinity-decision"];
                let answer = Response::builder().header("x-told", told);
                let answer = answer.header("x-endpoint", address.to_string());
                std::future::ready(match reached {
                    true => Ok(answer.body(Body::default()).unwrap()),
                    false => Err(UpstreamFault::Connect),
                })
            })
        };
        let leaf = GroupBalance::new(self.groups.clone(), connect);
        Replica(BoxCloneSyncService::new(
            GatewayLayer::new(affinity).layer(leaf),
        ))
    }

    /// A's endpoints but for that one, and a new one.
    fn restarts_elsewhere(&self, endpoint: SocketAddr) {
        let old = (1..=4).map(|n| address(1, n)).filter(|at| *at != endpoint);
        self.groups.update(&name("A"), old.chain([address(1, 99)]));
    }

    fn report(&self, endpoint: SocketAddr, source: Source, state: EndpointState) {
        self.groups.report(&name("A"), endpoint, source, state);
    }
}

fn address(net: u8, host: u8) -> SocketAddr {
    SocketAddr::from(([10, 77, net, host], 7461))
}

/// A client with a session, and its endpoint.
fn begun(replica: &Replica) -> (Client, SocketAddr) {
    let mut client = Client::default();
    let first = client.get(replica);
    assert_eq!(first.said, "assigned/new@A");
    assert!(first.pin.is_some(), "no pin was given");
    (client, first.endpoint.unwrap())
}

#[test]
fn a_sessions_requests_all_reach_one_endpoint_through_any_replica() {
    let stage = Stage::new();
    let replicas = [stage.replica(K1), stage.replica(K1)];
    let mut used = BTreeSet::new();
    for n in 0..60_usize {
        let (mut client, endpoint) = begun(&replicas[n % 2]);
        used.insert(endpoint);
        for round in 0..8 {
            let answer = client.get(&replicas[round % 2]);
            assert_eq!(answer.said, "pinned/ok@A");
            assert_eq!(answer.endpoint, Some(endpoint), "session {n}");
            assert_eq!(answer.pin, None, "its pin is still good");
        }
    }
    assert_eq!(used.len(), 4, "sessions are spread over the endpoints");
}

#[test]
fn c040_a_session_whose_endpoint_is_gone_stays_in_its_group_at_one_other_endpoint() {
    let stage = Stage::new();
    let replicas = [stage.replica(K1), stage.replica(K1)];
    let (mut client, old) = begun(&replicas[0]);
    stage.restarts_elsewhere(old);
    let lost = client.get(&replicas[0]);
    assert_eq!(lost.said, "pinned/endpoint_lost@A");
    let new = lost.endpoint.unwrap();
    assert_ne!(new, old);
    assert!(lost.pin.is_some(), "the new endpoint is in no pin");
    let affinity = lost.response.extensions().get::<Affinity>().unwrap();
    assert_eq!(affinity.decision().pin.as_ref().unwrap().moves, 0);
    for round in 0..6 {
        if round == 3 {
            stage
                .groups
                .update(&name("A"), (1..=4).map(|n| address(1, n)).chain([new]));
        }
        let answer = client.get(&replicas[round % 2]);
        assert_eq!(answer.said, "pinned/ok@A", "round {round}");
        assert_eq!(answer.endpoint, Some(new), "round {round}");
    }
}

#[test]
fn parallel_requests_of_a_session_meet_at_the_same_new_endpoint() {
    let stage = Stage::new();
    let replicas = [stage.replica(K1), stage.replica(K1)];
    for _ in 0..20 {
        let (client, old) = begun(&replicas[0]);
        stage.restarts_elsewhere(old);
        // eight tabs with the same pin: none has seen the answer of another
        let mut tabs = vec![client; 8];
        let answers: Vec<Answer> = tabs
            .iter_mut()
            .zip(replicas.iter().cycle())
            .map(|(tab, replica)| tab.get(replica))
            .collect();
        let new: BTreeSet<_> = answers.iter().map(|answer| answer.endpoint).collect();
        assert_eq!(new.len(), 1, "they were split over {new:?}");
        for mut tab in tabs {
            let answer = tab.get(&replicas[1]);
            assert_eq!(answer.said, "pinned/ok@A");
            assert!(new.contains(&answer.endpoint));
        }
        stage
            .groups
            .update(&name("A"), (1..=4).map(|n| address(1, n)));
    }
}

#[test]
fn parallel_first_requests_with_one_key_meet_at_one_endpoint() {
    let stage = Stage::new();
    let replicas = [stage.replica(K1), stage.replica(K1)];
    let mut used = BTreeSet::new();
    for user in 0..30 {
        let user = format!("user-{user}");
        let endpoints: BTreeSet<_> = (0..8)
            .map(|n| {
                replicas[n % 2]
                    .ask("/keyed/a", &[("x-user", &user)])
                    .endpoint
            })
            .collect();
        assert_eq!(endpoints.len(), 1, "{user}: {endpoints:?}");
        used.extend(endpoints);
    }
    assert_eq!(used.len(), 4, "users are spread over the endpoints");
}

#[test]
fn a_draining_endpoint_keeps_its_sessions_and_gets_no_new_one() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let (mut client, endpoint) = begun(&replica);
    stage.report(endpoint, Source::Control, EndpointState::Draining);
    for _ in 0..8 {
        let answer = client.get(&replica);
        assert_eq!(answer.said, "pinned/ok@A");
        assert_eq!(answer.endpoint, Some(endpoint));
        let (_, new) = begun(&replica);
        assert_ne!(new, endpoint, "a new session on an endpoint that drains");
        let other = client.ask(&replica, "/group/a").endpoint;
        assert_ne!(
            other,
            Some(endpoint),
            "a request that any endpoint could serve"
        );
    }
}

#[test]
fn an_unhealthy_endpoint_loses_its_sessions_unless_health_is_ignored() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let (mut client, endpoint) = begun(&replica);
    for n in 1..=3 {
        stage.report(address(1, n), Source::Health, EndpointState::Unhealthy);
    }
    stage.report(endpoint, Source::Health, EndpointState::Unhealthy);
    stage.report(address(1, 4), Source::Health, EndpointState::Ready);
    stage.report(address(1, 3), Source::Health, EndpointState::Unhealthy);
    // one of four is healthy: that says more of the checks than of the endpoints
    let panics = client.get(&replica);
    assert_eq!(
        (panics.said.as_str(), panics.endpoint),
        ("pinned/ok@A", Some(endpoint))
    );
    for n in (1..=4).filter(|n| address(1, *n) != endpoint) {
        stage.report(address(1, n), Source::Health, EndpointState::Ready);
    }
    stage.report(endpoint, Source::Health, EndpointState::Unhealthy);
    let lost = client.get(&replica);
    assert_eq!(lost.said, "pinned/endpoint_lost@A");
    assert_ne!(lost.endpoint, Some(endpoint));
}

#[test]
fn a_session_leaves_an_endpoint_that_cannot_be_reached() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let (mut client, endpoint) = begun(&replica);
    stage.dead.lock().unwrap().insert(endpoint);
    let left = client.get(&replica);
    assert_eq!(
        (left.status, left.said.as_str()),
        (200, "pinned/endpoint_lost@A")
    );
    assert_ne!(left.endpoint, Some(endpoint));
    let told = "pinned; cause=endpoint_lost";
    assert_eq!(left.told.as_deref(), Some(told), "who serves in its place");
    assert!(
        left.pin.is_some(),
        "the pin still names the one that is gone"
    );
    for answer in (0..6).map(|_| client.get(&replica)) {
        assert_eq!(answer.said, "pinned/ok@A", "it is lost once");
        assert_eq!(answer.endpoint, left.endpoint, "and replaced once");
    }
}

#[test]
fn an_endpoint_that_was_left_does_not_get_its_sessions_back() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let (mut client, endpoint) = begun(&replica);
    stage.dead.lock().unwrap().insert(endpoint);
    let left = client.get(&replica);
    assert_eq!(left.said, "pinned/endpoint_lost@A");
    stage.dead.lock().unwrap().clear();
    stage.clock.advance(Duration::from_secs(2));
    // somebody tries it, and finds that it is there again
    let back = (0..100).any(|_| begun(&replica).1 == endpoint);
    assert!(back, "the endpoint gets nothing more");
    let later = client.get(&replica);
    assert_eq!(
        (later.said.as_str(), later.endpoint),
        ("pinned/ok@A", left.endpoint)
    );
}

#[test]
fn a_draining_endpoint_that_failed_for_a_moment_keeps_the_sessions_that_did_not_notice() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let (mut one, endpoint) = begun(&replica);
    let mut others = std::iter::repeat_with(|| begun(&replica)).take(100);
    let other = others.find(|(_, at)| *at == endpoint);
    let (mut other, _) = other.expect("another session of the endpoint");
    stage.report(endpoint, Source::Control, EndpointState::Draining);
    stage.dead.lock().unwrap().insert(endpoint);
    assert_eq!(one.get(&replica).said, "pinned/endpoint_lost@A");
    stage.dead.lock().unwrap().clear();
    stage.clock.advance(Duration::from_secs(2));
    let kept = other.get(&replica);
    assert_eq!(
        (kept.said.as_str(), kept.endpoint),
        ("pinned/ok@A", Some(endpoint)),
        "nobody else would ever have tried it"
    );
}

#[test]
fn no_endpoint_is_lost_to_one_that_did_not_answer() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let (mut client, _) = begun(&replica);
    stage
        .dead
        .lock()
        .unwrap()
        .extend((1..=4).map(|n| address(1, n)));
    let failed = client.get(&replica);
    assert!(
        failed.status >= 500,
        "{} of endpoints that are gone",
        failed.status
    );
    assert_eq!((failed.said.as_str(), failed.pin), ("pinned/ok@A", None));
}

#[test]
fn an_abort_moves_the_session_to_the_other_group_and_to_one_endpoint_there() {
    let stage = Stage::new();
    let replicas = [stage.replica(K1), stage.replica(K1)];
    let (mut client, _) = begun(&replicas[0]);
    let now = Timestamp::from_secs(START);
    let to_b = AbortRequest {
        to: Some(name("B")),
        ..AbortRequest::default()
    };
    stage
        .rollouts
        .update(|rollout| rollout.abort(&name("A"), &to_b, &AlwaysReady, after(rollout, now)))
        .unwrap();
    let moved = client.get(&replicas[0]);
    assert_eq!(moved.said, "moved/aborted@B");
    assert!(moved.endpoint.unwrap().to_string().starts_with("10.77.2."));
    for round in 0..6 {
        let answer = client.get(&replicas[round % 2]);
        assert_eq!(answer.said, "pinned/ok@B");
        assert_eq!(answer.endpoint, moved.endpoint);
    }
}

#[test]
fn a_rotation_of_keys_loses_no_endpoint() {
    let stage = Stage::new();
    let (mut client, endpoint) = begun(&stage.replica(K1));
    let rings = [format!("{K1},{K2}"), format!("{K2},{K1}")];
    for ring in &rings {
        stage.clock.advance(Duration::from_secs(TI / 4));
        let answer = client.get(&stage.replica(ring));
        assert_eq!(
            (answer.said.as_str(), answer.endpoint),
            ("pinned/ok@A", Some(endpoint))
        );
        assert!(answer.pin.is_some(), "renewed with the key that signs now");
    }
    let answer = client.get(&stage.replica(K2));
    assert_eq!(
        (answer.said.as_str(), answer.endpoint),
        ("pinned/ok@A", Some(endpoint))
    );
}

#[test]
fn sec_01_a_pin_with_an_endpoint_tells_no_address() {
    let stage = Stage::new();
    let (client, endpoint) = begun(&stage.replica(K1));
    let claims = jsonwebtoken::dangerous::insecure_decode::<serde_json::Value>(&client.0);
    let claims = claims.unwrap().claims.to_string();
    assert!(claims.contains("\"ep\":"), "{claims}");
    for part in [endpoint.to_string().as_str(), "10.77.", "7461", "0a4d01"] {
        assert!(
            !claims.contains(part) && !client.0.contains(part),
            "{part} in {claims}"
        );
    }
}

#[test]
fn a_session_of_another_scope_gets_an_endpoint_where_it_needs_one() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let mut client = Client::default();
    assert_eq!(client.ask(&replica, "/group/a").said, "assigned/new@A");
    let first = client.get(&replica);
    assert_eq!(first.said, "pinned/ok@A", "nothing was lost");
    assert!(first.pin.is_some(), "the endpoint is in no pin");
    let mut elsewhere = BTreeSet::new();
    for _ in 0..40 {
        let answer = client.get(&replica);
        assert_eq!((answer.endpoint, answer.pin), (first.endpoint, None));
        let other = client.ask(&replica, "/group/a");
        assert!(other.response.extensions().get::<ServedBy>().is_none());
        elsewhere.extend(other.endpoint);
    }
    assert!(elsewhere.len() > 1, "level group is bound to one endpoint");
}

#[test]
fn a_busy_endpoint_is_not_left() {
    let stage = Stage::new();
    let replica = stage.replica(K1);
    let (mut client, endpoint) = begun(&replica);
    stage.groups.limit(&name("A"), Some(1));
    // its body is not dropped, so it stays in flight
    let held = client.get(&replica);
    assert_eq!(held.endpoint, Some(endpoint));
    let full = client.get(&replica);
    assert_eq!((full.status, full.endpoint, full.pin), (503, None, None));
    drop(held);
    assert_eq!(
        client.get(&replica).endpoint,
        Some(endpoint),
        "it came back"
    );
}
