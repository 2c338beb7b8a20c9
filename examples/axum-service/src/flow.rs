//! The flow: start, a few steps, finish.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tower_affinity::Affinity;
use tower_affinity::extract::Moved;
use tower_affinity::signal::{Outcome, Signal};

/// How many steps come before the finish.
const STEPS: u32 = 3;

/// How far a client is. The client sends back what it was answered last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The commit that wrote this.
    pub commit: String,
    /// The number of steps that are done.
    pub done: u32,
}

/// What the flow answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What to send with the next step.
    pub state: State,
    /// The session, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The commit from which the session was moved, if the flow began anew because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarted_from: Option<String>,
}

/// `Option<Affinity>` serves requests outside of any session too.
pub(crate) async fn greet(affinity: Option<Affinity>) -> String {
    match affinity.as_ref().and_then(Affinity::session) {
        Some(session) => format!("session {session}: POST /start, then /step, then /finish\n"),
        None => "no session: POST /start, then /step, then /finish\n".to_owned(),
    }
}

pub(crate) async fn start(affinity: Affinity, moved: Option<Moved>) -> Response {
    begin(&affinity, moved.as_ref())
}

pub(crate) async fn step(
    affinity: Affinity,
    moved: Option<Moved>,
    Json(state): Json<State>,
) -> Response {
    match objection(&affinity, moved.as_ref(), &state) {
        Some(answer) => answer,
        None => Json(answer(&affinity, state.done.saturating_add(1))).into_response(),
    }
}

pub(crate) async fn finish(
    affinity: Affinity,
    moved: Option<Moved>,
    Json(state): Json<State>,
) -> Response {
    match objection(&affinity, moved.as_ref(), &state) {
        Some(answer) => answer,
        None if state.done < STEPS => {
            (StatusCode::CONFLICT, "there are steps left\n").into_response()
        }
        // the flow is complete: the pin goes, and the client's next flow is drawn anew
        None => {
            let answer = Json(answer(&affinity, state.done));
            (Signal::End, Outcome::Success, answer).into_response()
        }
    }
}

/// What to answer if this commit cannot go on from `state`.
fn objection(affinity: &Affinity, moved: Option<&Moved>, state: &State) -> Option<Response> {
    if moved.is_some() {
        return Some(begin(affinity, moved));
    }
    let refusal = "another commit wrote this state\n";
    (state.commit != affinity.group()).then(|| (StatusCode::CONFLICT, refusal).into_response())
}

/// The first answer of a flow. If the session was moved, this is where the flow takes notice: it
/// says so to its client, and to the layer, which then stops telling it.
fn begin(affinity: &Affinity, moved: Option<&Moved>) -> Response {
    match moved {
        None => Json(answer(affinity, 0)).into_response(),
        Some(moved) => {
            let answer = Answer {
                restarted_from: Some(moved.from().to_owned()),
                ..answer(affinity, 0)
            };
            (moved.seen(), Json(answer)).into_response()
        }
    }
}

fn answer(affinity: &Affinity, done: u32) -> Answer {
    Answer {
        state: State {
            commit: affinity.group().to_owned(),
            done,
        },
        session: affinity.session().map(|session| session.to_string()),
        restarted_from: None,
    }
}
