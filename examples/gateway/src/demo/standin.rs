//! A minimal proxy in the gateway's place, for tests of the script: weights in turn, an unsigned
//! cookie, and the header that tells an endpoint of a move.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Body, extract::State};
use http::{HeaderValue, Request, Response, Uri, header};
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::{net::TcpListener, task::JoinHandle};

use super::{
    board::Affinity,
    fleet::Fleet,
    flow::A,
    gateway::{Gateway, Places},
    operator::{Operator, Order, Refused, Weights},
};

pub(crate) struct StandIn {
    site: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    affinity: Affinity,
    pool: Pool<HttpConnector, Body>,
    rollout: Mutex<Rollout>,
}

#[derive(Default)]
struct Rollout {
    stable: String,
    groups: Vec<(String, u32, Vec<SocketAddr>)>,
    aborted: Vec<String>,
    drawn: usize,
}

impl Gateway for StandIn {
    type Error = std::io::Error;

    async fn open(affinity: Affinity, fleet: &Fleet, places: Places) -> Result<Self, Self::Error> {
        let stable = A.commit.to_owned();
        let endpoints = fleet.endpoints(A.commit).to_vec();
        let rollout = Rollout {
            groups: vec![(stable.clone(), 1, endpoints)],
            stable,
            ..Rollout::default()
        };
        let pool = Pool::builder(TokioExecutor::new()).build_http();
        let shared = Arc::new(Shared {
            affinity,
            pool,
            rollout: Mutex::new(rollout),
        });
        let listener = TcpListener::bind(places.site).await?;
        let site = listener.local_addr()?;
        let app = Router::new().fallback(forward).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Ok(Self {
            site,
            shared,
            server,
        })
    }

    fn places(&self) -> Places {
        Places {
            site: self.site,
            admin: self.site,
        }
    }

    fn token_file(&self) -> PathBuf {
        // it has no admin side
        PathBuf::new()
    }

    async fn close(self) {
        self.server.abort();
    }
}

impl Operator for StandIn {
    async fn obey(&self, order: Order, endpoints: &[SocketAddr]) -> Result<Weights, Refused> {
        let mut rollout = self.shared.rollout.lock().unwrap();
        match order {
            Order::Register(group) => {
                rollout
                    .groups
                    .push((group.to_owned(), 0, endpoints.to_vec()));
            }
            Order::Weights(weights) => {
                weights
                    .iter()
                    .for_each(|(group, weight)| rollout.set(group, *weight));
            }
            Order::Promote(group) => {
                rollout
                    .groups
                    .iter_mut()
                    .for_each(|other| other.1 = u32::from(other.0 == group));
                rollout.stable = group.to_owned();
            }
            Order::Abort(group) => {
                rollout.set(group, 0);
                rollout.aborted.push(group.to_owned());
            }
        }
        Ok(rollout
            .groups
            .iter()
            .map(|(name, weight, _)| (name.clone(), *weight))
            .collect())
    }
}

impl Rollout {
    fn set(&mut self, group: &str, weight: u32) {
        self.groups
            .iter_mut()
            .find(|(name, ..)| name == group)
            .expect("a known group")
            .1 = weight;
    }

    // Takes the weights in turn, spread out by a stride that has no divisor with their usual sums.
    fn draw(&mut self) -> String {
        self.drawn += 1;
        let total: u32 = self.groups.iter().map(|(_, weight, _)| weight).sum();
        let mut slot = u32::try_from(self.drawn * 37).unwrap() % total;
        for (name, weight, _) in &self.groups {
            if slot < *weight {
                return name.clone();
            }
            slot -= weight;
        }
        panic!("the weights cover every slot");
    }

    fn decide(&mut self, pinned: Option<String>) -> (String, Option<String>) {
        match pinned {
            Some(group) if self.aborted.contains(&group) => (self.stable.clone(), Some(group)),
            Some(group) => (group, None),
            None => (self.draw(), None),
        }
    }

    fn endpoint(&self, group: &str) -> SocketAddr {
        let (.., endpoints) = self.groups.iter().find(|(name, ..)| name == group).unwrap();
        endpoints[self.drawn % endpoints.len()]
    }
}

async fn forward(State(shared): State<Arc<Shared>>, mut request: Request<Body>) -> Response<Body> {
    let pinned = request.headers().get(header::COOKIE).map(|cookie| {
        cookie
            .to_str()
            .unwrap()
            .strip_prefix("standin=")
            .expect("our cookie only")
            .to_owned()
    });
    let (group, moved_from, endpoint) = {
        let mut rollout = shared.rollout.lock().unwrap();
        let (group, moved_from) = rollout.decide(pinned);
        let endpoint = rollout.endpoint(&group);
        (group, moved_from, endpoint)
    };
    let uri: Uri = format!("http://{endpoint}{}", request.uri().path())
        .parse()
        .unwrap();
    *request.uri_mut() = uri;
    if let Some(from) = moved_from {
        let moved = format!("{from}; at=1790000000; cause=aborted");
        request
            .headers_mut()
            .insert("affinity-moved-from", HeaderValue::try_from(moved).unwrap());
    }
    let mut response = shared.pool.request(request).await.unwrap().map(Body::new);
    if shared.affinity == Affinity::On {
        let cookie = HeaderValue::try_from(format!("standin={group}; Path=/")).unwrap();
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
