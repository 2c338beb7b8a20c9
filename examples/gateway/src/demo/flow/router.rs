//! One endpoint of the flow: the graph of its commit behind four routes.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{State as Shared, rejection::JsonRejection},
    response::{AppendHeaders, Html, IntoResponse, Response},
    routing::{get, post},
};
use http::{HeaderMap, StatusCode};

use super::{
    answer::{Answer, StepRequest},
    graph::{Graph, Refusal, State},
};

/// The application that `endpoint` of the graph's commit serves.
pub(crate) fn router(graph: &'static Graph, endpoint: &str) -> Router {
    let instance = Instance {
        graph,
        endpoint: endpoint.into(),
    };
    Router::new()
        .route("/", get(async || Html(include_str!("page.html"))))
        .route("/flow/start", post(start))
        .route("/flow/step", post(step))
        .route("/flow/finish", post(finish))
        .with_state(instance)
}

#[derive(Clone)]
struct Instance {
    graph: &'static Graph,
    endpoint: Arc<str>,
}

type Body = Result<Json<StepRequest>, JsonRejection>;

async fn start(Shared(here): Shared<Instance>, headers: HeaderMap) -> Response {
    let answer = Json(here.at(here.graph.first(), &headers));
    // Nothing was under way, so a move that the gateway still reports has cost nothing.
    match moved_from(&headers) {
        Some(_) => (say("moved-seen"), answer).into_response(),
        None => answer.into_response(),
    }
}

async fn step(Shared(here): Shared<Instance>, headers: HeaderMap, body: Body) -> Response {
    if let Some(from) = moved_from(&headers) {
        return here.restart(from, &headers);
    }
    let Json(request) = match body {
        Ok(request) => request,
        Err(rejection) => return here.unreadable(&rejection, &headers),
    };
    match here.graph.advance(request.state, request.input) {
        Ok(state) => Json(here.at(state, &headers)).into_response(),
        Err(refusal) => here.refuse(&refusal, &headers),
    }
}

async fn finish(Shared(here): Shared<Instance>, headers: HeaderMap, body: Body) -> Response {
    if let Some(from) = moved_from(&headers) {
        return here.restart(from, &headers);
    }
    let Json(request) = match body {
        Ok(request) => request,
        Err(rejection) => return here.unreadable(&rejection, &headers),
    };
    match here.graph.finish(&request.state) {
        Ok(()) => {
            let answer = Answer {
                finished: true,
                ..here.answer(&headers)
            };
            (say("end"), Json(answer)).into_response()
        }
        Err(refusal) => here.refuse(&refusal, &headers),
    }
}

impl Instance {
    fn answer(&self, headers: &HeaderMap) -> Answer {
        Answer {
            commit: self.graph.commit.to_owned(),
            endpoint: self.endpoint.as_ref().to_owned(),
            decision: text(headers, "affinity-decision").map(str::to_owned),
            ..Answer::default()
        }
    }

    fn at(&self, state: State, headers: &HeaderMap) -> Answer {
        Answer {
            next: Some(state.at.clone()),
            state: Some(state),
            ..self.answer(headers)
        }
    }

    // A state that another commit wrote cannot be trusted here, even if this graph could read it.
    fn restart(&self, from: &str, headers: &HeaderMap) -> Response {
        let answer = Answer {
            restart: true,
            moved_from: Some(from.to_owned()),
            ..self.at(self.graph.first(), headers)
        };
        (say("moved-seen"), Json(answer)).into_response()
    }

    fn refuse(&self, refusal: &Refusal, headers: &HeaderMap) -> Response {
        let answer = Answer {
            error: Some(refusal.to_string()),
            ..self.answer(headers)
        };
        (StatusCode::CONFLICT, Json(answer)).into_response()
    }

    fn unreadable(&self, rejection: &JsonRejection, headers: &HeaderMap) -> Response {
        let answer = Answer {
            error: Some(rejection.body_text()),
            ..self.answer(headers)
        };
        (rejection.status(), Json(answer)).into_response()
    }
}

// What the application tells the gateway about the session.
fn say(word: &'static str) -> AppendHeaders<[(&'static str, &'static str); 1]> {
    AppendHeaders([("affinity-session", word)])
}

// The header reads `NAME; at=UNIX; cause=CAUSE`.
fn moved_from(headers: &HeaderMap) -> Option<&str> {
    text(headers, "affinity-moved-from")?
        .split(';')
        .next()
        .map(str::trim)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
