//! The replicas that share the state, and what each says of itself.

use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Serialize;
use tower_affinity::core::{Announced, ReplicaRecord};
use utoipa::ToSchema;

use super::AdminOptions;
use super::problem::Problem;
use super::verbs::{Peer, who};
use crate::control::{Control, ControlError};
use crate::events::Kind;

/// All replicas, as the asked one has heard them last. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Replicas {
    /// The name of the asked one.
    asked: String,
    /// Its clock now.
    now: u64,
    /// What is wrong with the asked one, as the others show it.
    problems: Vec<ProblemView>,
    replicas: Vec<ReplicaView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ProblemView {
    what: String,
    /// Whether it is not ready because of it.
    unready: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct ReplicaView {
    name: String,
    /// `alive`; `silent` if its word has lapsed; `left` in good order; `unreadable` if its word is
    /// of another release.
    state: &'static str,
    #[serde(flatten)]
    word: Option<Word>,
}

/// What one says of itself.
#[derive(Debug, Serialize, ToSchema)]
struct Word {
    revision: u64,
    /// When it said so, by its own clock.
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    admin: Option<String>,
    /// The id of the key that signs its pins.
    signing: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<String>,
}

impl Replicas {
    fn of(control: &Control) -> Self {
        let problems = control.problems().into_iter();
        Self {
            asked: control.replica(),
            now: control.now().as_secs(),
            problems: problems
                .map(|problem| ProblemView {
                    what: problem.kind.to_string(),
                    unready: problem.unready,
                })
                .collect(),
            replicas: control.announced().iter().map(ReplicaView::of).collect(),
        }
    }
}

impl ReplicaView {
    fn of(announced: &Announced) -> Self {
        let record = ReplicaRecord::parse(&announced.record).ok();
        let state = match &record {
            None => "unreadable",
            Some(record) if record.left => "left",
            Some(_) if announced.alive => "alive",
            Some(_) => "silent",
        };
        Self {
            name: announced.replica.clone(),
            state,
            word: record.map(|record| Word {
                revision: record.revision.0,
                at: record.at.as_secs(),
                admin: record.admin,
                signing: record.signing.to_string(),
                configuration: record.config.map(|digest| digest.to_string()),
            }),
        }
    }
}

#[utoipa::path(
    get,
    path = "/v1/replicas",
    tag = "replicas",
    operation_id = "replicas",
    summary = "The replicas that share the state",
    responses((status = 200, body = Replicas, description = "What is so now."))
)]
pub(super) async fn all(State(options): State<AdminOptions>) -> Json<Replicas> {
    Json(Replicas::of(&options.control))
}

#[utoipa::path(
    delete,
    path = "/v1/replicas/{replica}",
    tag = "replicas",
    operation_id = "forget_replica",
    summary = "Ends the wait for a replica that is gone",
    params(
        ("replica" = String, Path, description = "The name of a replica")
    ),
    responses((status = 200, body = Replicas, description = "The replicas that are left"))
)]
pub(super) async fn forget(
    State(options): State<AdminOptions>,
    Path(name): Path<String>,
    peer: Peer,
) -> Result<Json<Replicas>, Problem> {
    let control = &options.control;
    let announced = control.announced();
    let known = announced.iter().find(|other| other.replica == name);
    let (Some(member), Some(known)) = (control.member(), known) else {
        return Err(unknown(&name));
    };
    if known.alive {
        return Err(Problem::refused(false).detail(format!(
            "{name} is alive, and would be back with its next word; stop it, or wait until it is \
             silent"
        )));
    }
    let forgotten = member.forget(&name).await;
    let who = who(peer);
    match forgotten.map_err(ControlError::from)? {
        true => {
            tracing::info!(
                target: "affinity::audit", who, verb = "forget-replica", replica = %name, "replica forgotten"
            );
            let text = format!("forget-replica {name} by {who}");
            control.events().keep(Kind::Replica, None, &text);
            Ok(all(State(options)).await)
        }
        false => Err(unknown(&name)),
    }
}

fn unknown(name: &str) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "unknown-replica",
        "no replica has that name",
    )
    .detail(format!(
        "no replica is named {:?}",
        name.chars().take(128).collect::<String>()
    ))
}
