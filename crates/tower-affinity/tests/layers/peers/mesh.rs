//! Some processes of one service, and a network between them that carries heads and bytes only.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_affinity::balance::{BalanceBody, Endpoint, Groups, ReplayBody};
use tower_affinity::core::{
    AbortRequest, AlwaysReady, Change, Forwarding, GroupId, Lifetimes, PinCodec, Refusal, Revision,
    Rollout, SessionId, SessionPin, Timestamp,
};
use tower_affinity::record::Recorder;
use tower_affinity::respond::UpstreamFault;
use tower_affinity::signal::Signal;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{Affinity, AffinityLayer, Keyring, PeerForwardLayer, Propagation, Rollouts};
use tower_affinity_testing::{HandClock, START, after, name, rollout};

use crate::support::{Body, COOKIE_NAME, K1, codec};

/// The paths whose sessions go on to other services.
pub(super) const SHOP: &str = "/shop/*";

type Answering = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
pub(super) type Reach = Arc<dyn Fn(Request<Body>) -> Answering + Send + Sync>;

/// What listens where. Nothing else is shared by processes but the clock.
#[derive(Clone)]
pub(super) struct Mesh {
    pub(super) clock: HandClock,
    network: Arc<Mutex<HashMap<SocketAddr, Reach>>>,
}

/// What an application was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) headers: HeaderMap,
    /// `pinned/ok@A`
    pub(super) said: String,
    pub(super) session: Option<SessionId>,
    pub(super) moved_from: Option<String>,
    pub(super) body: Bytes,
    /// What it could take along on calls.
    pub(super) context: Option<Propagation>,
}

/// What an application answers besides its name.
#[derive(Clone, Default)]
pub(super) struct Says {
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) signal: Option<Signal>,
}

/// One process of one commit.
pub(super) struct Process {
    pub(super) address: SocketAddr,
    pub(super) rollouts: Rollouts,
    /// What it knows of the others.
    pub(super) peers: Groups,
    asked: Arc<Mutex<Vec<Asked>>>,
    says: Arc<Mutex<Says>>,
    counted: Snapshotter,
    reach: Reach,
}

/// An answer as its client gets it.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// A and B, both active, with all the weight at A; revision 10.
pub(super) fn town() -> Rollout {
    rollout(10, &[("A", 100), ("B", 0)])
}

pub(super) fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

pub(super) fn ask(headers: &[(&str, &str)]) -> Request<Body> {
    crate::support::ask("GET", "/step", headers)
}

impl Mesh {
    pub(super) fn new() -> Self {
        Self {
            clock: HandClock::at(Timestamp::from_secs(START)),
            network: Arc::default(),
        }
    }

    /// A process of `group` that knows no peers yet.
    pub(super) fn process(&self, group: &str, port: u16, rollout: Rollout) -> Process {
        self.start(group, port, rollout, Forwarding::Foreign)
    }

    /// One that draws new sessions by weight.
    pub(super) fn by_weight(&self, group: &str, port: u16, rollout: Rollout) -> Process {
        self.start(group, port, rollout, Forwarding::ByWeight)
    }

    /// One that does not forward.
    pub(super) fn lonely(&self, group: &str, port: u16, rollout: Rollout) -> Process {
        self.start(group, port, rollout, Forwarding::Never)
    }

    /// Processes of `A` at port 1 and `B` at port 2 that know each other.
    pub(super) fn two(&self) -> [Process; 2] {
        let [a, b] = [("A", 1), ("B", 2)].map(|(group, port)| self.process(group, port, town()));
        a.knows("B", &[2]);
        b.knows("A", &[1]);
        [a, b]
    }

    fn start(&self, group: &str, port: u16, rollout: Rollout, forwarding: Forwarding) -> Process {
        let (rollouts, peers) = (Rollouts::from(rollout), Groups::new(self.clock.clone()));
        let (asked, says) = (Arc::default(), Arc::default());
        let metrics = DebuggingRecorder::new();
        let counted = metrics.snapshotter();
        let affinity = AffinityLayer::builder()
            .keyring(Keyring::parse(K1).unwrap())
            .service("checkout")
            .rollout(rollouts.clone())
            .serving(name(group))
            .scope(Scope::new(SHOP.parse().unwrap()).propagate(true))
            .scope(Scope::new(PathPattern::all()))
            .recorder(Recorder::new(Arc::new(metrics)))
            .clock(self.clock.clone())
            .build()
            .unwrap();
        let app = app(group, &asked, &says);
        let layer =
            |affinity| PeerForwardLayer::new(affinity, peers.clone(), self.connect()).unwrap();
        let reach: Reach = match forwarding {
            Forwarding::Never => reach(affinity.layer(app)),
            Forwarding::Foreign => reach(layer(affinity).layer(app)),
            Forwarding::ByWeight => reach(layer(affinity).by_weight().layer(app)),
        };
        self.listen(address(port), &reach);
        Process {
            address: address(port),
            rollouts,
            peers,
            asked,
            says,
            counted,
            reach,
        }
    }

    /// From now on that is found there.
    pub(super) fn listen(&self, address: SocketAddr, reach: &Reach) {
        self.network
            .lock()
            .unwrap()
            .insert(address, Arc::clone(reach));
    }

    /// From now on nobody is found there.
    pub(super) fn goes_down(&self, process: &Process) {
        self.network.lock().unwrap().remove(&process.address);
    }

    /// What carries requests to a peer: nothing of the process goes along, as over a connection.
    fn connect(
        &self,
    ) -> impl Fn(
        &Arc<Endpoint>,
    ) -> tower::util::BoxCloneService<
        Request<ReplayBody<Body>>,
        Response<Body>,
        UpstreamFault,
    > + Clone
    + Send
    + Sync
    + 'static {
        let network = Arc::clone(&self.network);
        move |endpoint| {
            let found = network.lock().unwrap().get(&endpoint.address()).cloned();
            tower::util::BoxCloneService::new(service_fn(
                move |request: Request<ReplayBody<Body>>| {
                    let found = found.clone();
                    async move {
                        let found = found.ok_or(UpstreamFault::Connect)?;
                        let (head, body) = request.into_parts();
                        let body = body
                            .collect()
                            .await
                            .map_err(|_| UpstreamFault::RequestBody)?;
                        let mut sent = Request::new(Full::new(body.to_bytes()));
                        *sent.method_mut() = head.method;
                        *sent.uri_mut() = head.uri;
                        *sent.headers_mut() = head.headers;
                        let (head, body) = found(sent).await.into_parts();
                        let mut got = Response::new(body);
                        *got.status_mut() = head.status;
                        *got.headers_mut() = head.headers;
                        Ok(got)
                    }
                },
            ))
        }
    }
}

/// An application that answers with its name and what it is told to say.
fn app(
    group: &str,
    asked: &Arc<Mutex<Vec<Asked>>>,
    says: &Arc<Mutex<Says>>,
) -> impl Service<
    Request<Body>,
    Response = Response<BalanceBody<Body>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send
+ Sync
+ 'static {
    let (group, asked, says) = (group.to_owned(), Arc::clone(asked), Arc::clone(says));
    service_fn(move |request: Request<Body>| {
        let (group, asked) = (group.clone(), Arc::clone(&asked));
        let says = says.lock().unwrap().clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let affinity: &Affinity = head.extensions.get().expect("a decision");
            let decision = affinity.decision();
            let (kind, cause) = (decision.kind.as_str(), decision.cause.as_str());
            asked.lock().unwrap().push(Asked {
                said: format!("{kind}/{cause}@{}", affinity.group()),
                session: affinity.session(),
                moved_from: affinity
                    .moved_from()
                    .map(|last| last.from.label().to_owned()),
                body,
                context: head.extensions.get().cloned(),
                headers: head.headers,
            });
            let mut response = Response::new(Bytes::from(group).into());
            for (name, value) in says.headers {
                response.headers_mut().append(name, value.parse().unwrap());
            }
            if let Some(signal) = says.signal {
                response.extensions_mut().insert(signal);
            }
            Ok(response)
        }
    })
}

fn reach<S>(service: S) -> Reach
where
    S: Service<Request<Body>, Response = Response<BalanceBody<Body>>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    Arc::new(move |request| {
        let service = service.clone();
        Box::pin(async move {
            let response = service
                .oneshot(request)
                .await
                .unwrap_or_else(|never| match never {});
            let (head, body) = response.into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            Response::from_parts(head, Full::new(body))
        })
    })
}

impl Process {
    pub(super) fn knows(&self, group: &str, ports: &[u16]) {
        self.peers
            .update(&name(group), ports.iter().map(|port| address(*port)));
    }

    pub(super) fn as_reach(&self) -> &Reach {
        &self.reach
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Reply {
        let (head, body) = (self.reach)(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply {
            status: head.status,
            headers: head.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// A request with that token in our cookie, and these headers.
    pub(super) async fn get(&self, token: &str, headers: &[(&str, &str)]) -> Reply {
        let cookie = format!("{COOKIE_NAME}={token}");
        let mut all = vec![("cookie", &*cookie)];
        all.extend_from_slice(headers);
        self.send(ask(&all)).await
    }

    /// What the application was asked since the last time.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    pub(super) fn says(&self, says: Says) {
        *self.says.lock().unwrap() = says;
    }

    /// Sums of a counter since the last time, by its labels in order: `B forwarded`.
    pub(super) fn counted(&self, metric: &str) -> Vec<(String, u64)> {
        let counts = self.counted.snapshot().into_vec();
        let mut sums: Vec<(String, u64)> = counts
            .into_iter()
            .filter(|(key, ..)| key.key().name() == metric)
            .filter_map(|(key, _, _, value)| match value {
                DebugValue::Counter(count) if count > 0 => {
                    let labels: Vec<&str> = key.key().labels().map(|label| label.value()).collect();
                    Some((labels.join(" "), count))
                }
                _ => None,
            })
            .collect();
        sums.sort();
        sums
    }

    pub(super) fn change(
        &self,
        clock: &HandClock,
        change: impl FnOnce(&Rollout, Change) -> Result<Rollout, Refusal>,
    ) {
        let now = tower_affinity::core::Clock::now(clock);
        let changed = self
            .rollouts
            .update(|rollout| change(rollout, after(rollout, now)));
        changed.expect("a change that is allowed");
    }

    pub(super) fn abort(&self, clock: &HandClock, group: &str) {
        self.change(clock, |rollout, change| {
            rollout.abort(&name(group), &AbortRequest::default(), &AlwaysReady, change)
        });
    }
}

impl Reply {
    pub(super) fn cookie(&self) -> Option<String> {
        let line = self.headers.get("set-cookie")?.to_str().unwrap();
        let pair = line.split(';').next()?;
        Some(pair.strip_prefix(&format!("{COOKIE_NAME}="))?.to_owned())
    }

    /// The group that served, and the status.
    pub(super) fn served(&self) -> (u16, &str) {
        (self.status.as_u16(), &self.body)
    }
}

pub(super) fn service() -> PinCodec {
    codec("checkout", K1)
}

/// The token of a session of `group` with that id, issued at the start.
pub(super) fn token(group: &str, id: u128) -> String {
    let pin = SessionPin::new(
        SessionId::from_random(id),
        GroupId::new(name(group), 1),
        Revision(10),
        Timestamp::from_secs(START),
        Lifetimes::default(),
    );
    service().seal(&pin).token
}
