#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::convert::Infallible;
use std::sync::Mutex;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity::balance::{Cut, Endpoint, GroupBalance, Lease, ReplayBody};
use tower_affinity::{AffinityLayer, GatewayLayer, Keyring, SystemClock};
use tower_affinity_testing::{id, name, rollout};

use super::*;

/// A group with tunnels, and when each of them was cut, from the start on.
struct Tunnels {
    groups: Groups,
    cut: Arc<Mutex<Vec<Duration>>>,
}

impl Tunnels {
    fn new() -> Self {
        let groups = Groups::new(SystemClock::new());
        groups.update(&name("a"), [([127, 0, 0, 1], 7001).into()]);
        Self {
            groups,
            cut: Arc::default(),
        }
    }

    /// Each is a request whose lease is held by a task until the cut.
    async fn open(&self, count: usize) {
        let cut = Arc::clone(&self.cut);
        let connect = move |_: &Arc<Endpoint>| {
            let cut = Arc::clone(&cut);
            service_fn(move |mut request: Request<ReplayBody<Empty<Bytes>>>| {
                let lease = request.extensions_mut().remove::<Lease>().unwrap();
                let (cut, start) = (Arc::clone(&cut), Instant::now());
                tokio::spawn(async move {
                    Cut::of(lease).await;
                    cut.lock().unwrap().push(start.elapsed());
                });
                async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) }
            })
        };
        let affinity = AffinityLayer::builder()
            .keyring(Keyring::ephemeral().unwrap())
            .service("checkout")
            .rollout(rollout(1, &[("a", 1)]))
            .build()
            .unwrap();
        let leaf = GroupBalance::new(self.groups.clone(), connect);
        let stack = GatewayLayer::new(affinity).layer(leaf);
        for _ in 0..count {
            stack
                .clone()
                .oneshot(Request::new(Empty::new()))
                .await
                .unwrap();
        }
        while self.groups.open_streams(&id("a")).len() < count {
            tokio::task::yield_now().await;
        }
    }

    fn cuts(&self) -> Cuts {
        Cuts {
            groups: self.groups.clone(),
            recorder: Recorder::default(),
            id: id("a"),
            cause: ABORTED,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cuts_are_spread_evenly_and_end_in_time() {
    let tunnels = Tunnels::new();
    tunnels.open(300).await;
    tunnels
        .cuts()
        .spread(Duration::ZERO, Duration::from_secs(30))
        .await;
    tokio::task::yield_now().await;
    let cut = tunnels.cut.lock().unwrap().clone();
    assert_eq!(cut.len(), 300, "not every stream was cut");
    for second in 0..30 {
        let in_it = cut.iter().filter(|at| at.as_secs() == second).count();
        assert!((9..=11).contains(&in_it), "{in_it} cuts in second {second}");
    }
    assert_eq!(tunnels.groups.in_flight(&name("a")), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_cut_before_its_time() {
    let tunnels = Tunnels::new();
    tunnels.open(10).await;
    tunnels
        .cuts()
        .spread(Duration::from_secs(600), Duration::from_secs(30))
        .await;
    let first = tunnels.cut.lock().unwrap().iter().min().copied();
    assert!(
        first.is_some_and(|at| at >= Duration::from_secs(600)),
        "{first:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_opened_during_the_cuts_is_ended_with_them() {
    let tunnels = Tunnels::new();
    tunnels.open(2).await;
    let cuts = tokio::spawn(
        tunnels
            .cuts()
            .spread(Duration::ZERO, Duration::from_secs(30)),
    );
    tokio::time::advance(Duration::from_secs(20)).await;
    tunnels.open(1).await;
    cuts.await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(
        tunnels.cut.lock().unwrap().len(),
        3,
        "a late stream went on"
    );
    assert!(tunnels.groups.open_streams(&id("a")).is_empty());
}
