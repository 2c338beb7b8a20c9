//! The operator's side: the admin API over HTTP.

use std::net::SocketAddr;
use std::path::Path;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::time::timeout;

use crate::BOUND;
use crate::client::connect;
use crate::samples::Samples;

/// A caller of the admin API with the token.
#[derive(Clone, Debug)]
pub struct Admin {
    address: SocketAddr,
    token: String,
}

/// What the admin API answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Told {
    /// The status.
    pub status: StatusCode,
    /// The fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Told {
    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        let read = serde_json::from_slice(&self.body);
        read.unwrap_or_else(|e| panic!("{e}: {:?} {:?}", self.status, self.body))
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Fails unless the change was accepted.
    ///
    /// # Panics
    ///
    /// If it was not.
    pub fn accepted(&self) {
        assert_eq!(self.status, StatusCode::OK, "not accepted: {}", self.text());
    }

    /// The revision of an accepted change.
    ///
    /// # Panics
    ///
    /// If it was not accepted.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.accepted();
        self.json()["revision"]
            .as_u64()
            .expect("an accepted change tells its revision")
    }

    /// The type and the detail of a problem.
    ///
    /// # Panics
    ///
    /// If it is none, or its status is another one.
    #[must_use]
    pub fn problem(&self, status: StatusCode) -> (String, String) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(
            self.headers[CONTENT_TYPE],
            "application/problem+json",
            "{}",
            self.text()
        );
        let problem = self.json();
        assert_eq!(problem["status"], status.as_u16(), "{problem}");
        let text = |key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        (text("type"), text("detail"))
    }
}

impl Admin {
    /// A caller with the token that the gateway put into its file.
    ///
    /// # Panics
    ///
    /// If there is no token.
    #[must_use]
    pub fn new(address: SocketAddr, token_file: &Path) -> Self {
        let token = std::fs::read_to_string(token_file).expect("the gateway made a token");
        Self {
            address,
            token: token.trim().to_owned(),
        }
    }

    /// Where the admin side is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Reads.
    pub async fn get(&self, path: &str) -> Told {
        self.request(Request::get(path), Bytes::new()).await
    }

    /// Changes by `POST`, with the token.
    pub async fn post(&self, path: &str, body: &Value) -> Told {
        self.change(Method::POST, path, body, &[]).await
    }

    /// Sets weights.
    pub async fn weights(&self, weights: &Value) -> Told {
        self.change(Method::PUT, "/v1/rollout/weights", weights, &[])
            .await
    }

    /// Calls a verb of a group.
    pub async fn verb(&self, group: &str, verb: &str, body: &Value) -> Told {
        self.post(&format!("/v1/groups/{group}/{verb}"), body).await
    }

    /// Changes, with the token and more fields.
    pub async fn change(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        fields: &[(&str, &str)],
    ) -> Told {
        let mut request = Request::builder().method(method).uri(path);
        request = request
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        self.request(request, body.to_string().into()).await
    }

    /// Sends a request as it is, but for its `Host` if it has none.
    ///
    /// # Panics
    ///
    /// If there is no answer in time.
    pub async fn request(&self, request: http::request::Builder, body: Bytes) -> Told {
        let mut request = request.body(Full::new(body)).expect("a request");
        let host = self.address.to_string().parse().expect("an address");
        request.headers_mut().entry(HOST).or_insert(host);
        let exchange = async {
            let response = connect(self.address).await.send_request(request).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, hyper::Error>(Told {
                status: head.status,
                headers: head.headers,
                body,
            })
        };
        let told = timeout(BOUND, exchange)
            .await
            .expect("the admin side answers in time");
        told.expect("the admin side answers")
    }

    /// The rollout as it is shown.
    pub async fn rollout(&self) -> Value {
        self.get("/v1/rollout").await.json()
    }

    /// One group as it is shown.
    ///
    /// # Panics
    ///
    /// If there is none of that name.
    pub async fn group(&self, name: &str) -> Value {
        let rollout = self.rollout().await;
        let groups = rollout["groups"].as_array().expect("a rollout has groups");
        let group = groups.iter().find(|group| group["name"] == name);
        group
            .unwrap_or_else(|| panic!("no group {name}: {rollout}"))
            .clone()
    }

    /// The metrics as they are now.
    pub async fn samples(&self) -> Samples {
        Samples::read(&self.get("/metrics").await.text())
    }
}
