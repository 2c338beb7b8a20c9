//! What the flow and its clients say to each other.

use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::graph::State;

/// The body of `POST /flow/step` and `POST /flow/finish`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StepRequest {
    pub(crate) state: State,
    #[serde(default)]
    pub(crate) input: String,
}

/// The body of every answer of the flow: who answered, and how the session goes on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) commit: String,
    pub(crate) endpoint: String,
    /// What the gateway decided for this request, as it told the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<State>,
    /// The step to answer next, or `finish`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// The session was moved here and begins again with the state of this answer.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) restart: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved_from: Option<String>,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) finished: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}
