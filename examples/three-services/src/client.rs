//! A client of one service, which takes along the session of whoever asks.

use std::net::SocketAddr;

use axum::body::{Body, Bytes, to_bytes};
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as Pool, Error as PoolError};
use hyper_util::rt::TokioExecutor;
use thiserror::Error;
use tower::{Layer, Service, ServiceExt};
use tower_affinity::PropagateLayer;
use tower_affinity::propagate::{InvalidDestination, Propagate};

/// The most of an answer that is read, in bytes.
const LIMIT: usize = 64 * 1024;

/// A pool of connections that knows nothing of sessions.
pub type Plain = Pool<HttpConnector, Body>;

/// Asks one service. All clones share its connections.
#[derive(Clone, Debug)]
pub struct Client<S = Propagate<Plain>> {
    address: SocketAddr,
    service: S,
}

/// A call that has brought no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The service is away.
    #[error("no answer of the service")]
    Pool(#[from] PoolError),
    /// It answers something else.
    #[error("the service answers {0}")]
    Status(StatusCode),
    /// Its answer cannot be read to the end.
    #[error("the answer cannot be read")]
    Body(#[from] axum::Error),
    /// Its answer is none of ours.
    #[error("the answer is none that was asked for")]
    Form(#[from] serde_json::Error),
    /// The request is none.
    #[error("the request is none")]
    Request(#[from] http::Error),
}

impl Client {
    /// A client of the service at `address`, and of no other: the pin of a session is for services of
    /// one's own.
    ///
    /// # Errors
    ///
    /// Never: an address is a destination.
    pub fn new(address: SocketAddr) -> Result<Self, InvalidDestination> {
        let layer = PropagateLayer::new().only_to([address.to_string()])?;
        let service = layer.layer(pool());
        Ok(Self { address, service })
    }
}

impl Client<Plain> {
    /// A client from outside, which takes nothing along.
    #[must_use]
    pub fn outside(address: SocketAddr) -> Self {
        let service = pool();
        Self { address, service }
    }
}

impl<S> Client<S>
where
    S: Service<Request<Body>, Response = Response<Incoming>, Error = PoolError>,
{
    /// Asks for the root with these headers. The session is that of the task which asks.
    ///
    /// # Errors
    ///
    /// If there is no answer.
    pub async fn get(&mut self, headers: HeaderMap) -> Result<Response<Bytes>, CallError> {
        let mut request = Request::get(format!("http://{}/", self.address)).body(Body::empty())?;
        request.headers_mut().extend(headers);
        let response = self.service.ready().await?.call(request).await?;
        if response.status() != StatusCode::OK {
            return Err(CallError::Status(response.status()));
        }
        let (parts, body) = response.into_parts();
        let body = to_bytes(Body::new(body), LIMIT).await?;
        Ok(Response::from_parts(parts, body))
    }
}

fn pool() -> Plain {
    Pool::builder(TokioExecutor::new()).build_http()
}
