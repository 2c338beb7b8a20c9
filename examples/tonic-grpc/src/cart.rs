//! `cart`, where sessions begin, and which asks `price`.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::post;
use http::uri::PathAndQuery;
use tonic::Status;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;
use tower::{Layer, service_fn};
use tower_affinity::propagate::Propagate;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{Affinity, AffinityLayer, Carrier, Keyring, PropagateLayer, Propagation};

use crate::wire::{ADD, Item, OF, Sum};
use crate::{Failure, Running, halves};

/// The service that keeps what a shopper buys.
#[derive(Clone, Copy, Debug)]
pub struct Cart(());

/// A client of `price`, which takes sessions along.
type Prices = tonic::client::Grpc<Propagate<Channel>>;

impl Cart {
    /// Starts it. It signs its pins with `keys`, and asks for prices at `price`.
    ///
    /// # Errors
    ///
    /// If it cannot be built or served.
    pub async fn start(keys: Keyring, price: SocketAddr) -> Result<Running, Failure> {
        let rollouts = halves()?;
        let affinity = AffinityLayer::builder()
            .keyring(keys)
            .service("cart")
            .rollout(rollouts.clone())
            // gRPC has metadata, which is headers, and no cookies
            .carriers([Carrier::Header])
            .scope(Scope::new(PathPattern::all()).propagate(true))
            .build()?;
        let channel = Channel::from_shared(format!("http://{price}"))?.connect_lazy();
        let prices = Prices::new(PropagateLayer::new().layer(channel));
        let methods = Router::new().route(ADD, post(add)).with_state(prices);
        Running::start(methods, affinity, rollouts).await
    }
}

async fn add(
    State(prices): State<Prices>,
    affinity: Affinity,
    propagation: Propagation,
    request: Request,
) -> http::Response<tonic::body::Body> {
    let met = format!("cart {}", affinity.group());
    let method = service_fn(move |request: tonic::Request<Item>| {
        let (met, prices, propagation) = (met.clone(), prices.clone(), propagation.clone());
        async move {
            let mut sum = ask(prices, propagation, request.into_inner()).await?;
            sum.met.insert(0, met);
            Ok(tonic::Response::new(sum))
        }
    });
    let codec = ProstCodec::<Sum, Item>::default();
    tonic::server::Grpc::new(codec).unary(method, request).await
}

async fn ask(mut prices: Prices, session: Propagation, item: Item) -> Result<Sum, Status> {
    let mut request = tonic::Request::new(item);
    request.extensions_mut().insert(session);
    let away = |error| Status::unavailable(format!("price is away: {error}"));
    prices.ready().await.map_err(away)?;
    let codec = ProstCodec::<Item, Sum>::default();
    let path = PathAndQuery::from_static(OF);
    Ok(prices.unary(request, path, codec).await?.into_inner())
}
