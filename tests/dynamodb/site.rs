//! [`Site`]: the layer over one server, with hands on its clock and on what stands between them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity::core::{AbortRequest, AlwaysReady, Timestamp};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{Affinity, AffinityLayer, Keyring, Rollouts};
use tower_affinity_testing::{HandClock, START, after, name, rollout};

use crate::support::{Between, DynamoServer, Tells, store};

/// A site, which draws by the header `x-user` where a request has it.
pub(crate) struct Site {
    pub(crate) server: Arc<DynamoServer>,
    pub(crate) between: Between,
    pub(crate) clock: HandClock,
    pub(crate) rollouts: Rollouts,
    layer: AffinityLayer,
}

const KEY: &str = "k1:5TTK48nkSfEDI7Og9alBBsqR4RW_cVPE0LN2jPHYJr8";

/// A quarter of the idle lifetime.
pub(crate) const QUARTER: Duration = Duration::from_secs(450);

impl Site {
    /// With these weights of A and B; `None` if there is no server on this machine.
    pub(crate) async fn start(weights: [u64; 2]) -> Option<Self> {
        let server = Arc::new(DynamoServer::start(Tells::Item).await?);
        Some(Self::over(server, weights).await)
    }

    /// Another one over the same server.
    pub(crate) async fn over(server: Arc<DynamoServer>, weights: [u64; 2]) -> Self {
        let between = Between::to(server.address()).await;
        let clock = HandClock::at(Timestamp::from_secs(START));
        let [a, b] = weights;
        let rollouts = Rollouts::from(rollout(10, &[("A", a), ("B", b)]));
        let by_user = AssignBy::Header("x-user".parse().unwrap());
        let layer = AffinityLayer::builder()
            .keyring(Keyring::parse(KEY).unwrap())
            .service("conform")
            .rollout(rollouts.clone())
            .clock(clock.clone())
            .scope(Scope::new(PathPattern::all()).assign(by_user))
            .store(store(&between.url(), "shop"));
        Self {
            server,
            between,
            clock,
            rollouts,
            layer: layer.build().unwrap(),
        }
    }

    /// Sends a request, and gives the cookie to show with the next one and the group that served.
    pub(crate) async fn get(&self, headers: &[(&str, &str)]) -> (String, String) {
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
        let cookie = text("set-cookie").split(';').next().unwrap_or_default();
        (cookie.to_owned(), text("x-group").to_owned())
    }

    /// The group that serves a user who shows nothing else.
    pub(crate) async fn group_of(&self, user: &str) -> String {
        self.get(&[("x-user", user)]).await.1
    }

    /// Takes B back.
    pub(crate) fn abort_b(&self) {
        let request = AbortRequest::default();
        let now = self.clock_secs();
        let aborted = self.rollouts.update(|rollout| {
            let change = after(rollout, Timestamp::from_secs(now));
            rollout.abort(&name("B"), &request, &AlwaysReady, change)
        });
        aborted.unwrap();
    }

    fn clock_secs(&self) -> u64 {
        use tower_affinity::core::Clock;
        self.clock.now().as_secs()
    }

    /// What was asked for while `act` was done: so many writes, and so many reads.
    pub(crate) async fn cost<T>(&self, act: impl Future<Output = T>) -> ([u64; 2], T) {
        self.between.asked();
        let done = act.await;
        let asked = self.between.asked();
        let of = |action: &str| asked.get(action).copied().unwrap_or_default();
        let cost = [of("PutItem") + of("DeleteItem"), of("GetItem")];
        let all: u64 = asked.values().sum();
        assert_eq!(all, cost[0] + cost[1], "nobody asked for that: {asked:?}");
        (cost, done)
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}
