//! `price`, which has no sessions of its own and reads those of `cart`.

use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use tonic::server::Grpc;
use tonic_prost::ProstCodec;
use tower::service_fn;
use tower_affinity::core::MemoryStore;
use tower_affinity::{Affinity, AffinityLayer, Callers, Keyring};

use crate::wire::{Item, OF, Sum};
use crate::{Failure, Running, halves};

/// The most sessions that it keeps the commit of.
const SESSIONS: usize = 100_000;

/// The service that knows what things cost.
#[derive(Clone, Copy, Debug)]
pub struct Price(());

impl Price {
    /// Starts it. `keys_of_cart` open the pins of `cart`.
    ///
    /// # Errors
    ///
    /// If it cannot be built or served.
    pub async fn start(keys_of_cart: Keyring) -> Result<Running, Failure> {
        let rollouts = halves()?;
        let affinity = AffinityLayer::builder()
            .keyring(Keyring::ephemeral()?)
            .service("price")
            .rollout(rollouts.clone())
            .callers(Callers::from_networks(["127.0.0.0/8"])?.caller("cart", keys_of_cart)?)
            .store(MemoryStore::new(SESSIONS))
            .build()?;
        let methods = Router::new().route(OF, post(of));
        Running::start(methods, affinity, rollouts).await
    }
}

async fn of(affinity: Affinity, request: Request) -> http::Response<tonic::body::Body> {
    let met = format!("price {}", affinity.group());
    let method = service_fn(move |request: tonic::Request<Item>| {
        let met = vec![met.clone()];
        let cents = request.get_ref().name.len().try_into().unwrap_or(u32::MAX);
        std::future::ready(Ok(tonic::Response::new(Sum { cents, met })))
    });
    let codec = ProstCodec::<Sum, Item>::default();
    Grpc::new(codec).unary(method, request).await
}
