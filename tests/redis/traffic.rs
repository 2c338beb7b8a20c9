//! What a request costs the server, through the layer.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity::core::{AbortRequest, AlwaysReady, Timestamp};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{Affinity, AffinityLayer, Keyring, Rollouts};
use tower_affinity_testing::{HandClock, START, after, name, rollout};

use crate::support::{RedisServer, store};

/// A site with the layer over one server, by the header `x-user` where a request has it.
struct Site {
    server: RedisServer,
    clock: HandClock,
    rollouts: Rollouts,
    layer: AffinityLayer,
}

impl Site {
    async fn start() -> Option<Self> {
        let server = RedisServer::start(&[]).await?;
        let clock = HandClock::at(Timestamp::from_secs(START));
        let rollouts = Rollouts::from(rollout(10, &[("A", 90), ("B", 10)]));
        let by_user = AssignBy::Header("x-user".parse().unwrap());
        let layer = AffinityLayer::builder()
            .keyring(Keyring::parse(KEY).unwrap())
            .service("conform")
            .rollout(rollouts.clone())
            .clock(clock.clone())
            .scope(Scope::new(PathPattern::all()).assign(by_user))
            .store(store(&server, "shop"));
        let site = Self {
            server,
            clock,
            rollouts,
            layer: layer.build().unwrap(),
        };
        // the server learns the scripts
        let (pin, _) = site.get(&[("x-user", "first")]).await;
        site.get(&[("cookie", &pin)]).await;
        site.clock.advance(QUARTER);
        site.get(&[("cookie", &pin)]).await;
        Some(site)
    }

    /// Sends a request, and gives the cookie to show with the next one and the group that served.
    async fn get(&self, headers: &[(&str, &str)]) -> (String, String) {
        let mut request = Request::builder().uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let app = service_fn(async |request: Request<Full<Bytes>>| {
            let group = request.extensions().get().map_or("", Affinity::group);
            let answer = Response::builder().header("x-group", group);
            Ok::<_, Infallible>(answer.body(Full::<Bytes>::default()).unwrap())
        });
        let service = self.layer.layer(app);
        let answer = service
            .oneshot(request.body(Full::default()).unwrap())
            .await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 200);
        let text = |name| text(answer.headers(), name);
        let cookie = text("set-cookie")
            .split(';')
            .next()
            .unwrap_or_default()
            .to_owned();
        (cookie, text("x-group").to_owned())
    }

    /// The commands that came over the wire while `act` was done.
    async fn cost<T>(&self, act: impl Future<Output = T>) -> (u64, T) {
        let before = self.wire().await;
        let done = act.await;
        (self.wire().await - before, done)
    }

    async fn wire(&self) -> u64 {
        let calls = self.server.calls().await;
        let of = |name: &str| calls.get(name).copied().unwrap_or_default();
        let scripts = of("evalsha") + of("eval");
        // every script that was found reads its row once; nobody else does
        let lost = calls
            .keys()
            .filter(|name| name.starts_with("script"))
            .count();
        assert_eq!(
            lost, 0,
            "scripts are loaded with their first call: {calls:?}"
        );
        assert!(
            of("getrange") <= scripts,
            "read without a script: {calls:?}"
        );
        let known = [
            "evalsha",
            "eval",
            "getrange",
            "set",
            "zadd",
            "sadd",
            "zrem",
            "del",
            "info",
            "ping",
            "quit",
            "client|setinfo",
        ];
        let other: Vec<_> = calls
            .keys()
            .filter(|name| !known.contains(&&***name))
            .collect();
        assert!(other.is_empty(), "commands that nobody expects: {other:?}");
        // writes are those of scripts: each writes its row, counts it and names its label
        assert_eq!(of("set"), of("zadd"), "{calls:?}");
        assert_eq!(of("set"), of("sadd"), "{calls:?}");
        scripts
    }
}

const KEY: &str = "k1:5TTK48nkSfEDI7Og9alBBsqR4RW_cVPE0LN2jPHYJr8";
const QUARTER: Duration = Duration::from_secs(450);

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn no_request_takes_more_than_one_command() {
    let Some(site) = Site::start().await else {
        return;
    };
    // who shows nothing leaves nothing behind
    let (cost, (pin, _)) = site.cost(site.get(&[])).await;
    assert_eq!(cost, 0, "a request without a pin or a key");
    let steady = async {
        for _ in 0..100 {
            site.get(&[("cookie", &pin)]).await;
        }
    };
    let (cost, ()) = site.cost(steady).await;
    assert_eq!(
        cost, 100,
        "100 pinned requests, the first of which makes the row"
    );

    let (cost, (first, _)) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, 1, "the first request of a user");
    let (cost, _) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, 1, "the same user elsewhere");
    site.clock.advance(QUARTER);
    let (cost, (renewed, _)) = site.cost(site.get(&[("cookie", &pin)])).await;
    assert_eq!((cost, renewed.is_empty()), (1, false), "a renewal");
    let (cost, _) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, 1, "a row that is touched");
    let (cost, _) = site
        .cost(site.get(&[("x-user", "ann"), ("cookie", &first)]))
        .await;
    assert_eq!(cost, 1, "a pin that is older than its row");

    // an abort moves whoever is there with one command as well
    let mut to_b = None;
    for _ in 0..1_000 {
        let (pin, group) = site.get(&[]).await;
        if group == "B" {
            to_b = Some(pin);
            break;
        }
    }
    let to_b = to_b.expect("one of ten goes to B");
    site.get(&[("cookie", &to_b)]).await;
    let request = AbortRequest::default();
    let aborted = site.rollouts.update(|rollout| {
        let change = after(rollout, Timestamp::from_secs(START + 900));
        rollout.abort(&name("B"), &request, &AlwaysReady, change)
    });
    aborted.unwrap();
    let (cost, (moved, _)) = site.cost(site.get(&[("cookie", &to_b)])).await;
    assert_eq!((cost, moved.is_empty()), (1, false), "a move");

    // what has ended lies there still, and is replaced in the same step
    site.clock.advance(QUARTER * 5);
    let (cost, _) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, 1, "the heir of a row that has ended");
}

#[tokio::test]
async fn a_server_that_has_lost_its_scripts_gets_them_once() {
    let Some(site) = Site::start().await else {
        return;
    };
    let (pin, _) = site.get(&[("x-user", "ann")]).await;
    site.server.say(&["SCRIPT", "FLUSH"]).await;
    for round in 0..5 {
        let before = site.server.calls().await;
        site.get(&[("x-user", "ann"), ("cookie", &pin)]).await;
        let after = site.server.calls().await;
        let more = |name: &str| after[name] - before.get(name).copied().unwrap_or_default();
        let expected = if round == 0 { (1, 1) } else { (1, 0) };
        assert_eq!((more("evalsha"), more("eval")), expected, "request {round}");
    }
}

#[tokio::test]
async fn a_server_that_was_emptied_is_filled_again_without_a_herd() {
    let Some(site) = Site::start().await else {
        return;
    };
    let mut pins = Vec::new();
    for _ in 0..50 {
        pins.push(site.get(&[]).await.0);
    }
    let round = async {
        for pin in &pins {
            site.get(&[("cookie", pin)]).await;
        }
    };
    let (cost, ()) = site.cost(round).await;
    assert_eq!(cost, 50, "steady");
    site.server.say(&["FLUSHALL"]).await;
    let before = site.server.calls().await["evalsha"];
    for pin in &pins {
        site.get(&[("cookie", pin)]).await;
    }
    let cost = site.server.calls().await["evalsha"] - before;
    assert_eq!(cost, 50, "after everything was lost");
}
