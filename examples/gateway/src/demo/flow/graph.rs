//! The graph of one commit and the rule that leads a state through it.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// Where a state stands when every step is answered.
pub(crate) const FINISH: &str = "finish";

/// One question of the flow.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: &'static str,
    /// The field of the state that the answer fills.
    pub(crate) asks: &'static str,
}

/// The steps of one commit, in the order in which it asks them.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) commit: &'static str,
    pub(crate) nodes: &'static [Node],
}

/// What the client carries from step to step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) at: String,
    pub(crate) fields: BTreeMap<String, String>,
}

/// Why a graph cannot go on with a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    UnknownNode(String),
    MissingField { at: String, field: &'static str },
    UnknownField { at: String, field: String },
    Unfinished(String),
}

impl Graph {
    /// The state of a session that has answered nothing yet.
    pub(crate) fn first(&self) -> State {
        State {
            at: self
                .nodes
                .first()
                .map_or(FINISH, |node| node.name)
                .to_owned(),
            fields: BTreeMap::new(),
        }
    }

    /// Fills the field that the state's node asks for and leads the state to the next node.
    pub(crate) fn advance(&self, mut state: State, input: String) -> Result<State, Refusal> {
        let here = self
            .nodes
            .iter()
            .position(|node| node.name == state.at)
            .ok_or_else(|| Refusal::UnknownNode(state.at.clone()))?;
        let (answered, ahead) = self.nodes.split_at(here);
        check(&state, answered)?;
        if let Some(node) = ahead.first() {
            state.fields.insert(node.asks.to_owned(), input);
        }
        state.at = ahead.get(1).map_or(FINISH, |node| node.name).to_owned();
        Ok(state)
    }

    /// Accepts a state in which every step of this graph, and no other, is answered.
    pub(crate) fn finish(&self, state: &State) -> Result<(), Refusal> {
        if state.at == FINISH {
            return check(state, self.nodes);
        }
        if self.nodes.iter().any(|node| node.name == state.at) {
            return Err(Refusal::Unfinished(state.at.clone()));
        }
        Err(Refusal::UnknownNode(state.at.clone()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownNode(at) => write!(f, "unknown node \"{at}\""),
            Self::MissingField { at, field } => {
                write!(
                    f,
                    "node \"{at}\" needs field \"{field}\", which the state does not have"
                )
            }
            Self::UnknownField { at, field } => {
                write!(
                    f,
                    "node \"{at}\" does not know field \"{field}\" of the state"
                )
            }
            Self::Unfinished(at) => write!(f, "node \"{at}\" is not answered yet"),
        }
    }
}

impl std::error::Error for Refusal {}

// A state holds exactly what the nodes before it asked for: the schema follows from the graph.
fn check(state: &State, answered: &[Node]) -> Result<(), Refusal> {
    if let Some(node) = answered
        .iter()
        .find(|node| !state.fields.contains_key(node.asks))
    {
        return Err(Refusal::MissingField {
            at: state.at.clone(),
            field: node.asks,
        });
    }
    match state
        .fields
        .keys()
        .find(|field| answered.iter().all(|node| node.asks != **field))
    {
        Some(field) => Err(Refusal::UnknownField {
            at: state.at.clone(),
            field: field.clone(),
        }),
        None => Ok(()),
    }
}
