//! A day of sessions that come and go unseen, over a stack that chooses endpoints by live sessions.
//!
//! Nobody says goodbye: a client just does not come back. After a third of the day the group gets
//! more endpoints. What the store counts is held against what the clients know of their own pins.

mod unforgetting;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use fastrand::Rng;
use http::{Request, Response};
use http_body_util::Full;
use tower::{Layer, Service};
use tower_affinity::balance::{Endpoint, ReplayBody};
use tower_affinity::core::{
    Clock, EndpointId, GroupId, Level, LiveCounts, NewGroup, PinStore, Revision, Rollout,
    Timestamp, Weight,
};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{
    AffinityLayer, GatewayLayer, GatewayService, GroupBalance, Groups, Keyring, Rollouts, ServedBy,
};

pub use self::unforgetting::Unforgetting;
use crate::jar::claims;

/// How a day goes.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Endpoints at its start.
    pub endpoints: u16,
    /// Endpoints that are added after a third of it.
    pub added: u16,
    /// New sessions a minute, on average over the day.
    pub arrivals: f64,
    /// How long it lasts.
    pub hours: u64,
    /// What chance is drawn from.
    pub seed: u64,
}

/// The mean time for which a client comes back, in seconds.
const STAY: f64 = 20.0 * 60.0;
/// The mean time from one of its requests to the next, in seconds.
const GAP: f64 = 180.0;
const START: u64 = 1_800_000_000;
const COOKIE: &str = "__Host-affinity-day";

/// What there was at the end of one minute.
#[derive(Clone, Debug, PartialEq)]
pub struct Minute {
    /// Live sessions of each endpoint, as the store counts them.
    pub counted: Vec<u64>,
    /// The same, as the clients know of their pins.
    pub truth: Vec<u64>,
}

impl Minute {
    /// The sessions of the busiest endpoint over the mean of all; 1 if there are none.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        let all: u64 = self.truth.iter().sum();
        let busiest = self.truth.iter().copied().max().unwrap_or(0);
        if all == 0 {
            return 1.0;
        }
        busiest as f64 * self.truth.len() as f64 / all as f64
    }
}

/// A clock that stands until it is set.
#[derive(Clone, Debug)]
struct DayClock(Arc<AtomicU64>);

impl Clock for DayClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// An application that answers at once.
#[derive(Clone, Debug)]
struct Hello;

impl Service<Request<ReplayBody<Full<Bytes>>>> for Hello {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<ReplayBody<Full<Bytes>>>) -> Self::Future {
        ready(Ok(Response::new(Full::default())))
    }
}

type Connect = fn(&Arc<Endpoint>) -> Hello;
type Stack = GatewayService<GroupBalance<Connect>>;

/// One client: until when it comes back, and its cookie.
struct Client {
    leaves: u64,
    cookie: Option<String>,
    session: Option<String>,
    /// The endpoint and the expiry of its pin, once it has returned it.
    pin: Option<(usize, u64)>,
    /// Whether it is among those whose pins are counted.
    counted: bool,
}

/// Plays a day over `store` and answers its minutes.
///
/// # Panics
///
/// If a request is not served.
#[must_use]
pub fn play(plan: &Plan, store: Arc<dyn PinStore>) -> Vec<Minute> {
    let mut day = Day::new(plan, store);
    (0..plan.hours * 60)
        .map(|minute| day.minute(minute))
        .collect()
}

struct Day<'a> {
    plan: &'a Plan,
    store: Arc<dyn PinStore>,
    clock: DayClock,
    groups: Groups,
    group: GroupId,
    stack: Stack,
    random: Rng,
    clients: Vec<Client>,
    /// Whose pins may live.
    pinned: Vec<usize>,
    /// Who comes when, the next one first.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    endpoints: u16,
}

impl<'a> Day<'a> {
    fn new(plan: &'a Plan, store: Arc<dyn PinStore>) -> Self {
        let clock = DayClock(Arc::new(AtomicU64::new(START)));
        let name: tower_affinity::core::GroupName = "9f1c2ab".parse().expect("a name");
        let weight = Weight::new(1).expect("a weight");
        let group = NewGroup::active(name.clone(), weight).stable();
        let rollout = Rollout::new(Revision(START), clock.now(), [group]).expect("one group");
        let rollouts = Rollouts::fixed(rollout);
        let groups = Groups::new(Arc::new(clock.clone()));
        let scope = Scope::new(PathPattern::all())
            .level(Level::Endpoint)
            .assign(AssignBy::LeastLoaded);
        let keys = format!("k1:{}", "ab".repeat(32));
        let affinity = AffinityLayer::builder()
            .keyring(Keyring::parse(&keys).expect("a key"))
            .service("day")
            .rollout(rollouts)
            .clock(clock.clone())
            .readiness(groups.clone())
            .store(Arc::clone(&store))
            .scope(scope)
            .build()
            .expect("a layer");
        let connect: Connect = |_| Hello;
        let stack = GatewayLayer::new(affinity).layer(GroupBalance::new(groups.clone(), connect));
        let mut day = Self {
            plan,
            store,
            clock,
            groups,
            group: GroupId::new(name, 1),
            stack,
            random: Rng::with_seed(plan.seed),
            clients: Vec::new(),
            pinned: Vec::new(),
            due: BinaryHeap::new(),
            endpoints: 0,
        };
        day.add(plan.endpoints);
        day
    }

    fn add(&mut self, count: u16) {
        self.endpoints += count;
        let addresses = (0..self.endpoints).map(address);
        self.groups.update(self.group.name(), addresses);
    }

    fn minute(&mut self, minute: u64) -> Minute {
        if minute == self.plan.hours * 20 {
            self.add(self.plan.added);
        }
        let (begin, end) = (START + minute * 60, START + (minute + 1) * 60);
        // twice as many come at noon as on average, and none at midnight
        let of_day = minute as f64 / (self.plan.hours * 60) as f64;
        let rate = self.plan.arrivals * (1.0 - (of_day * std::f64::consts::TAU).cos());
        let mut at = begin as f64;
        loop {
            at += self.exponential(60.0 / rate.max(1e-9));
            if at >= end as f64 {
                break;
            }
            let leaves = at + self.exponential(STAY);
            self.clients.push(Client {
                leaves: leaves as u64,
                cookie: None,
                session: None,
                pin: None,
                counted: false,
            });
            self.due.push(Reverse((at as u64, self.clients.len() - 1)));
        }
        while let Some(Reverse((at, client))) = self.due.peek().copied()
            && at < end
        {
            self.due.pop();
            self.clock.0.store(at, Ordering::Relaxed);
            self.ask(at, client);
        }
        self.clock.0.store(end, Ordering::Relaxed);
        self.count(end)
    }

    /// One request of a client, and when it comes back.
    fn ask(&mut self, at: u64, number: usize) {
        let client = &mut self.clients[number];
        let mut request = Request::new(Full::default());
        if let Some(cookie) = &client.cookie {
            let value = format!("{COOKIE}={cookie}");
            let value = value.parse().expect("a token is a header");
            request.headers_mut().insert(http::header::COOKIE, value);
        }
        let response = at_once(self.stack.call(request));
        assert_eq!(response.status(), 200);
        let served: &ServedBy = response.extensions().get().expect("an endpoint");
        let endpoint = place(served.endpoint());
        let set = response.headers().get(http::header::SET_COOKIE);
        if let Some(set) = set {
            let set = set.to_str().expect("a cookie is text");
            let token = set.split(['=', ';']).nth(1).expect("a pair");
            client.cookie = Some(token.to_owned());
        }
        let token = client.cookie.as_deref().expect("a first answer sets one");
        let claims = claims(token);
        let expires = claims["exp"].as_u64().expect("an expiry");
        let session = claims["sid"].as_str().expect("a session").to_owned();
        // who comes back too late begins again, and has not returned that pin yet
        let returned = client.session.as_ref() == Some(&session);
        client.pin = returned.then_some((endpoint, expires));
        client.session = Some(session);
        if returned && !client.counted {
            client.counted = true;
            self.pinned.push(number);
        }
        let leaves = client.leaves;
        let next = at + 1 + self.exponential(GAP) as u64;
        if next <= leaves {
            self.due.push(Reverse((next, number)));
        } else {
            // so many come in a day that nothing is kept of those who have left but their pins
            let client = &mut self.clients[number];
            (client.cookie, client.session) = (None, None);
        }
    }

    fn count(&mut self, now: u64) -> Minute {
        let endpoints = usize::from(self.endpoints);
        let mut truth = vec![0; endpoints];
        let clients = &mut self.clients;
        self.pinned.retain(|number| {
            let client = &mut clients[*number];
            let lives = client.pin.filter(|(_, expires)| *expires > now);
            if let Some((endpoint, _)) = lives {
                truth[endpoint] += 1;
            }
            client.counted = lives.is_some();
            client.counted
        });
        let at = |n: u16| EndpointId::new(&address(n).to_string());
        let counted = match self.store.live(self.clock.now()) {
            LiveCounts::Known(live) => (0..self.endpoints)
                .map(|n| live.at(&self.group, &at(n)))
                .collect(),
            LiveCounts::Unknown => Vec::new(),
        };
        Minute { counted, truth }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        let left: f64 = 1.0 - self.random.f64();
        -mean * left.ln()
    }
}

fn address(n: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7000 + n))
}

fn place(endpoint: &EndpointId) -> usize {
    let address: SocketAddr = endpoint.as_str().parse().expect("an address");
    usize::from(address.port() - 7000)
}

/// Nothing in this stack waits.
fn at_once<T>(answer: impl Future<Output = Result<T, Infallible>>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(answer).poll(&mut cx) {
        Poll::Ready(Ok(answer)) => answer,
        Poll::Pending => panic!("the stack waits"),
    }
}

/// The greatest imbalance of the minutes, where enough sessions live for it to mean something.
#[must_use]
pub fn worst(minutes: &[Minute]) -> f64 {
    let busy = |minute: &&Minute| {
        let all: u64 = minute.truth.iter().sum();
        all >= 30 * minute.truth.len() as u64
    };
    let busy = minutes.iter().filter(busy);
    busy.map(Minute::imbalance).fold(1.0, f64::max)
}

/// By how many sessions the counts are off, in the worst minute.
#[must_use]
pub fn drift(minutes: &[Minute]) -> u64 {
    let off = |minute: &Minute| {
        let pairs = minute.counted.iter().zip(&minute.truth);
        pairs.map(|(counted, truth)| counted.abs_diff(*truth)).sum()
    };
    minutes.iter().map(off).max().unwrap_or(0)
}

/// How many minutes after endpoints were added the sessions are spread again.
pub const SETTLED: usize = 120;
