//! [`Client`]: asks one admin side after another until one answers.

use std::{error::Error, time::Duration};

use http::{
    Request,
    header::{AUTHORIZATION, CONTENT_TYPE, IF_MATCH},
};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::time::timeout;

use super::{
    answer::Answer,
    call::Call,
    place::Place,
    token::{Missing, Token},
};
use crate::exit::{Exit, Failure};

/// How long each admin side may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) connect: Duration,
    /// From the first attempt to connect to the end of the answer.
    pub(super) whole: Duration,
}

impl Default for Limits {
    /// A change is synced to a disk before it is answered, which can take seconds on a busy one.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            whole: Duration::from_secs(10),
        }
    }
}

/// Far above a rollout of 64 groups.
const MAX_ANSWER: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Client {
    places: Vec<Place>,
    token: Result<Token, Missing>,
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    limits: Limits,
}

/// Why one admin side gave no answer.
enum Silence {
    /// Nothing was asked: no connection.
    Unreached(String),
    /// It was asked, and may have done what was asked.
    Broken(String),
    /// As `Broken`, after the limit.
    TimedOut(String),
}

impl Client {
    pub(super) fn new(places: Vec<Place>, token: Result<Token, Missing>, limits: Limits) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(limits.connect));
        let http = legacy::Client::builder(TokioExecutor::new())
            // a fresh connection never breaks for being old, so a break says something
            .pool_max_idle_per_host(0)
            .build(connector);
        Self {
            places,
            token,
            http,
            limits,
        }
    }

    /// Asks until one answers. A change that was sent, and may have been made, goes nowhere else.
    pub(super) async fn ask(&self, call: &Call) -> Result<Answer, Failure> {
        if let (true, Err(missing)) = (call.needs_token(), &self.token) {
            return Err(missing.failure());
        }
        let mut exit = Exit::Failed;
        let mut tried = Vec::new();
        for place in &self.places {
            let (why, sent) = match self.ask_one(place, call).await {
                Ok(answer) => return answer.check(place),
                Err(Silence::Unreached(why)) => (why, false),
                Err(Silence::Broken(why)) => (why, true),
                Err(Silence::TimedOut(why)) => {
                    exit = Exit::TimedOut;
                    (why, true)
                }
            };
            if sent && !call.repeatable {
                let detail = format!("{place} was asked and did not answer ({why})");
                return Err(Failure::new(exit, "no-answer", detail).advice(
                    "the change may have been made: look with `gateway rollout show`, then repeat",
                ));
            }
            tried.push(format!("{place} ({why})"));
        }
        let kind = if exit == Exit::TimedOut {
            "timed-out"
        } else {
            "unreachable"
        };
        let detail = format!("no admin side answers: {}", tried.join(", "));
        Err(Failure::new(exit, kind, detail)
            .advice("start the gateway, or name its listen.admin with --admin http://HOST:PORT"))
    }

    async fn ask_one(&self, place: &Place, call: &Call) -> Result<Answer, Silence> {
        let request = self.request(place, call);
        let request = request.map_err(|error| Silence::Unreached(error.to_string()))?;
        let exchange = async {
            let response = self.http.request(request).await.map_err(|error| {
                let why = innermost(&error);
                if error.is_connect() {
                    Silence::Unreached(why)
                } else {
                    Silence::Broken(why)
                }
            })?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await;
            let body = body.map_err(|error| Silence::Broken(innermost(&*error)))?;
            Ok(Answer::new(&head, &body.to_bytes()))
        };
        let limit = self.limits.whole;
        timeout(limit, exchange).await.unwrap_or_else(|_| {
            let limit = humantime::format_duration(limit);
            Err(Silence::TimedOut(format!("no answer within {limit}")))
        })
    }

    fn request(&self, place: &Place, call: &Call) -> Result<Request<Full<Bytes>>, http::Error> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(place.uri(&call.path)?);
        if let Ok(Token(token)) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        if let Some(revision) = call.if_match {
            request = request.header(IF_MATCH, format!("\"{revision}\""));
        }
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(Full::from(call.body.clone().unwrap_or_default()))
    }
}

/// The cause that says most; what is around it only says which library asked.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}
