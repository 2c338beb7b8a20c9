//! Aborts that only this replica obeys.

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use tower_affinity::core::{AbortPolicy, Fact, GroupName, Standing};
use utoipa::ToSchema;

use super::AdminOptions;
use super::problem::Problem;
use super::verbs::{Peer, blocking, who};

/// One fact. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FactView {
    group: String,
    generation: u32,
    target: String,
    policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    at: u64,
    /// The revision that it was decided on.
    base_revision: u64,
    /// `pending` merges by itself when the shared state is back; `conflict` waits for a human.
    kind: &'static str,
}

impl FactView {
    fn of((fact, standing): &(Fact, Standing)) -> Self {
        let (policy, until) = match fact.abort.policy {
            AbortPolicy::Move => ("move", None),
            AbortPolicy::Stay { until } => ("stay", Some(until.as_secs())),
            AbortPolicy::End => ("end", None),
        };
        Self {
            group: fact.id.name().to_string(),
            generation: fact.id.generation(),
            target: fact.abort.target.name().to_string(),
            policy,
            until,
            at: fact.abort.at.as_secs(),
            base_revision: fact.base.0,
            kind: match standing {
                Standing::Conflicts => "conflict",
                Standing::Done | Standing::Merges => "pending",
            },
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Facts {
    facts: Vec<FactView>,
}

#[utoipa::path(
    get,
    path = "/v1/facts",
    tag = "facts",
    operation_id = "facts",
    summary = "Aborts that only this replica obeys",
    responses((status = 200, body = Facts, description = "What is so now."))
)]
pub(super) async fn all(State(options): State<AdminOptions>) -> Json<Facts> {
    let facts = options.control.facts();
    Json(Facts {
        facts: facts.iter().map(FactView::of).collect(),
    })
}

#[utoipa::path(
    delete,
    path = "/v1/facts/{group}",
    tag = "facts",
    operation_id = "drop_fact",
    summary = "Drops such an abort",
    params(
        ("group" = String, Path, description = "The name of a group")
    ),
    responses((status = 200, body = Facts, description = "The facts that are left"))
)]
pub(super) async fn forget(
    State(options): State<AdminOptions>,
    Path(group): Path<String>,
    peer: Peer,
) -> Result<Json<Facts>, Problem> {
    let name: GroupName = group.parse().map_err(|_| Problem::unknown_group(&group))?;
    let (control, who) = (options.control.clone(), who(peer));
    let dropped = blocking(move || Ok(control.drop_fact(&who, &name)?)).await?;
    if !dropped {
        return Err(Problem::unknown_group(&group).detail(format!(
            "this replica knows no abort of {:?} that the others do not know",
            group.chars().take(128).collect::<String>()
        )));
    }
    Ok(all(State(options)).await)
}
