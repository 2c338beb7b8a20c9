//! A simulated client: what a browser that walks the flow sends and keeps.

use std::{fmt, net::SocketAddr, time::Duration};

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::TokioExecutor,
};

use super::{
    flow::{Answer, StepRequest},
    jar::Jar,
};

/// Connections that all clients share, as behind a proxy: only what a client sends can keep its
/// session together, never the connection that it came on.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Pool<HttpConnector, Full<Bytes>>);

/// One client with a jar of its own.
#[derive(Debug)]
pub(crate) struct Client {
    connections: Connections,
    site: SocketAddr,
    jar: Jar,
}

/// Far above what any answer of the demo takes: a client that waits so long would give up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a client got no answer of the flow.
#[derive(Debug)]
pub(crate) enum Lost {
    Connection(Box<dyn std::error::Error + Send + Sync>),
    /// Nothing, for longer than a client waits.
    Silence,
    /// The status of an answer that is not the flow's.
    Foreign(StatusCode),
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self(Pool::builder(TokioExecutor::new()).build_http())
    }
}

impl Client {
    pub(crate) fn new(connections: Connections, site: SocketAddr) -> Self {
        Self {
            connections,
            site,
            jar: Jar::default(),
        }
    }

    /// Posts to the flow and reads its answer, refusals included.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        body: Option<&StepRequest>,
    ) -> Result<(StatusCode, Answer), Lost> {
        let body = match body {
            Some(body) => serde_json::to_vec(body).map_err(Lost::connection)?,
            None => Vec::new(),
        };
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("http://{}{path}", self.site))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(cookies) = self.jar.header() {
            request = request.header(header::COOKIE, cookies);
        }
        let request = request.body(Full::from(body)).map_err(Lost::connection)?;
        let exchange = tokio::time::timeout(PATIENCE, self.exchange(request));
        let (status, body) = exchange.await.map_err(|_| Lost::Silence)??;
        serde_json::from_slice(&body)
            .map(|answer| (status, answer))
            .map_err(|_| Lost::Foreign(status))
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), Lost> {
        let response = self
            .connections
            .0
            .request(request)
            .await
            .map_err(Lost::connection)?;
        self.jar.keep(response.headers());
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(Lost::connection)?;
        Ok((status, body.to_bytes()))
    }
}

impl Lost {
    fn connection(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Connection(cause.into())
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(_) => f.write_str("the exchange failed"),
            Self::Silence => write!(f, "no answer in {} s", PATIENCE.as_secs()),
            Self::Foreign(status) => write!(f, "{status}, not from the flow"),
        }
    }
}

impl std::error::Error for Lost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connection(cause) => Some(cause.as_ref()),
            Self::Silence | Self::Foreign(_) => None,
        }
    }
}
