//! One service: its affinity layer, its store, and its client of the next service.

use std::error::Error;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::map_request;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower_affinity::core::MemoryStore;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{
    Affinity, AffinityBuilder, AffinityLayer, Callers, Keyring, PeerAddr, PropagateScopeLayer,
    Rollouts,
};

use crate::client::{CallError, Client};

/// The most sessions that a service keeps the commit of.
const SESSIONS: usize = 100_000;

/// A running service. Dropping it ends it.
#[derive(Debug)]
pub struct Service {
    address: SocketAddr,
    rollouts: Rollouts,
    serving: JoinHandle<()>,
}

/// One service on the way of a visit, and its commit that has answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Seen {
    /// The name of the service.
    pub service: String,
    /// The name of its group.
    pub commit: String,
}

/// What a handler has at hand.
#[derive(Clone)]
struct Here {
    name: &'static str,
    next: Option<Client>,
}

impl Service {
    /// The service where sessions begin.
    ///
    /// # Errors
    ///
    /// If it cannot be built or served.
    pub async fn first(
        name: &'static str,
        rollouts: Rollouts,
        next: Option<&Self>,
        keyring: Keyring,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let builder = AffinityLayer::builder();
        Self::start(name, builder, rollouts, next, keyring).await
    }

    /// A service further down, which tells sessions apart by the pins of the first one.
    ///
    /// # Errors
    ///
    /// If it cannot be built or served.
    pub async fn further(
        name: &'static str,
        rollouts: Rollouts,
        next: Option<&Self>,
        (first, keys_of_first): (&str, Keyring),
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let callers = Callers::from_networks(["127.0.0.0/8"])?.caller(first, keys_of_first)?;
        // the first assignment stands, through changes of the weights and promotes
        let builder = AffinityLayer::builder()
            .callers(callers)
            .store(MemoryStore::new(SESSIONS));
        Self::start(name, builder, rollouts, next, Keyring::ephemeral()?).await
    }

    async fn start(
        name: &'static str,
        builder: AffinityBuilder,
        rollouts: Rollouts,
        next: Option<&Self>,
        keyring: Keyring,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let affinity = builder
            .keyring(keyring)
            .service(name)
            .rollout(rollouts.clone())
            .scope(Scope::new(PathPattern::all()).propagate(true))
            .build()?;
        let next = next.map(|next| Client::new(next.address)).transpose()?;
        let app = Router::new()
            .route("/", get(answer))
            .with_state(Here { name, next })
            // the calls of a handler find its session without being told
            .layer(PropagateScopeLayer::new())
            .layer(affinity)
            .layer(map_request(tell_peer));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        let serving = tokio::spawn(async move {
            // it has no end of its own
            drop(axum::serve(listener, app).await);
        });
        Ok(Self {
            address,
            rollouts,
            serving,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its commits and their weights.
    #[must_use]
    pub fn rollouts(&self) -> &Rollouts {
        &self.rollouts
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Says which commit answers, and what the services further down say.
async fn answer(State(here): State<Here>, affinity: Affinity) -> Result<Response, NoAnswer> {
    let mut seen = vec![Seen {
        service: here.name.to_owned(),
        commit: affinity.group().to_owned(),
    }];
    if let Some(mut next) = here.next {
        let further = next.get(HeaderMap::new()).await?;
        let further: Vec<Seen> = serde_json::from_slice(further.body()).map_err(CallError::from)?;
        seen.extend(further);
    }
    Ok(Json(seen).into_response())
}

/// Tells the affinity layer where a request came from, so that it knows whom to trust.
async fn tell_peer(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request) -> Request {
    request.extensions_mut().insert(PeerAddr(peer));
    request
}

/// A service further down does not answer.
struct NoAnswer(CallError);

impl From<CallError> for NoAnswer {
    fn from(error: CallError) -> Self {
        Self(error)
    }
}

impl IntoResponse for NoAnswer {
    fn into_response(self) -> Response {
        (StatusCode::BAD_GATEWAY, self.0.to_string()).into_response()
    }
}
