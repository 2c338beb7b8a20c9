//! What the admin side changes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::response::{IntoResponse, Response};
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tower_affinity::core::{GroupName, Revision, Weight};
use utoipa::ToSchema;

use super::preview::{self, Mode};
use super::problem::Problem;
use super::views::RolloutView;
use super::{AdminOptions, endpoints};
use crate::config::RollbackPolicy;
use crate::control::{ControlError, Held, Request, Verb};

/// The body of a registration.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Registration {
    name: String,
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    endpoints: Vec<SocketAddr>,
    #[serde(default)]
    weight: u64,
    /// The groups whose sessions it can serve, where the level is `version`.
    compatible_with: Option<Vec<String>>,
}

/// The body of the other verbs; each takes only what it knows.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wishes {
    to: Option<String>,
    policy: Option<Policy>,
    within: Option<String>,
    #[serde(default)]
    force: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Policy {
    Move,
    Stay,
    End,
}

/// The answer to an accepted change.
#[derive(Debug, Serialize, ToSchema)]
struct Accepted {
    before: u64,
    revision: u64,
    /// `all`, or `replica` for an abort that is in force here only.
    held: &'static str,
    /// Why here only: `out-of-reach` is the shared state, which takes it up once it is back;
    /// `not-kept` is on the disk of this replica, so that a restart forgets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    changed: bool,
    rollout: RolloutView,
}

pub(super) type Peer = Option<axum::Extension<ConnectInfo<SocketAddr>>>;
pub(super) type Body<T> = Result<Json<T>, JsonRejection>;

#[utoipa::path(
    put,
    path = "/v1/rollout/weights",
    tag = "rollout",
    operation_id = "weights",
    summary = "Gives groups new weights",
    request_body = BTreeMap<String, u64>,
    params(
        ("preview" = Option<bool>, Query, description = "Only what would happen: nothing is done"),
        ("if-match" = Option<String>, Header, description = "The revision that was seen")
    ),
    responses((status = 200, body = Accepted, description = "Made; with `?preview=true` a preview, and nothing is done"))
)]
pub(super) async fn weights(
    State(options): State<AdminOptions>,
    peer: Peer,
    mode: Mode,
    headers: HeaderMap,
    body: Body<BTreeMap<String, u64>>,
) -> Result<Response, Problem> {
    let mut weights = BTreeMap::new();
    for (group, number) in body?.0 {
        weights.insert(name(&group)?, weight(number)?);
    }
    if weights.is_empty() {
        return Err(Problem::bad_request(
            "name at least one group: {\"GROUP\": WEIGHT}",
        ));
    }
    run(options, peer, mode, &headers, Verb::Weights(weights)).await
}

#[utoipa::path(
    post,
    path = "/v1/groups",
    tag = "groups",
    operation_id = "register",
    summary = "Makes a group known",
    request_body = Registration,
    params(
        ("preview" = Option<bool>, Query, description = "Only what would happen: nothing is done"),
        ("if-match" = Option<String>, Header, description = "The revision that was seen")
    ),
    responses((status = 200, body = Accepted, description = "Made; with `?preview=true` a preview, and nothing is done"))
)]
pub(super) async fn register(
    State(options): State<AdminOptions>,
    peer: Peer,
    mode: Mode,
    headers: HeaderMap,
    body: Body<Registration>,
) -> Result<Response, Problem> {
    let Registration {
        name: group,
        endpoints,
        weight: number,
        compatible_with,
    } = body?.0;
    let group = name(&group)?;
    endpoints::check(&options, &endpoints)?;
    let names = |with: Vec<String>| with.iter().map(|other| name(other)).collect();
    let verb = Verb::Register {
        group,
        endpoints,
        weight: weight(number)?,
        compatible_with: compatible_with.map(names).transpose()?,
    };
    run(options, peer, mode, &headers, verb).await
}

#[utoipa::path(
    post,
    path = "/v1/groups/{group}/{verb}",
    tag = "groups",
    operation_id = "verb",
    summary = "Promotes, drains, aborts, retires or restores a group",
    request_body = Option<Wishes>,
    params(
        ("group" = String, Path, description = "The name of a group"),
        ("verb" = String, Path, description = "`promote`, `drain`, `abort`, `retire` or `restore`"),
        ("preview" = Option<bool>, Query, description = "Only what would happen: nothing is done"),
        ("if-match" = Option<String>, Header, description = "The revision that was seen")
    ),
    responses((status = 200, body = Accepted, description = "Made; with `?preview=true` a preview, and nothing is done"))
)]
pub(super) async fn group(
    State(options): State<AdminOptions>,
    Path((group, verb)): Path<(String, String)>,
    peer: Peer,
    mode: Mode,
    headers: HeaderMap,
    body: Body<Wishes>,
) -> Result<Response, Problem> {
    let group = name(&group)?;
    let verb = or_none(body, &headers)?.verb(&verb, group)?;
    run(options, peer, mode, &headers, verb).await
}

/// What `lock` and `unlock` take: nothing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoWishes {}

#[utoipa::path(
    post,
    path = "/v1/rollout/lock",
    tag = "rollout",
    operation_id = "lock",
    summary = "Refuses every change but an abort",
    request_body = Option<NoWishes>,
    params(
        ("preview" = Option<bool>, Query, description = "Only what would happen: nothing is done"),
        ("if-match" = Option<String>, Header, description = "The revision that was seen")
    ),
    responses((status = 200, body = Accepted, description = "Made; with `?preview=true` a preview, and nothing is done"))
)]
pub(super) async fn lock(
    State(options): State<AdminOptions>,
    peer: Peer,
    mode: Mode,
    headers: HeaderMap,
    body: Body<NoWishes>,
) -> Result<Response, Problem> {
    or_none(body, &headers)?;
    run(options, peer, mode, &headers, Verb::Lock).await
}

#[utoipa::path(
    post,
    path = "/v1/rollout/unlock",
    tag = "rollout",
    operation_id = "unlock",
    summary = "Ends a lock",
    request_body = Option<NoWishes>,
    params(
        ("preview" = Option<bool>, Query, description = "Only what would happen: nothing is done"),
        ("if-match" = Option<String>, Header, description = "The revision that was seen")
    ),
    responses((status = 200, body = Accepted, description = "Made; with `?preview=true` a preview, and nothing is done"))
)]
pub(super) async fn unlock(
    State(options): State<AdminOptions>,
    peer: Peer,
    mode: Mode,
    headers: HeaderMap,
    body: Body<NoWishes>,
) -> Result<Response, Problem> {
    or_none(body, &headers)?;
    run(options, peer, mode, &headers, Verb::Unlock).await
}

/// A verb without wishes needs no body, only the content type.
pub(super) fn or_none<T: Default>(body: Body<T>, headers: &HeaderMap) -> Result<T, Problem> {
    match body {
        Ok(Json(wishes)) => Ok(wishes),
        Err(_)
            if headers
                .get("content-length")
                .is_none_or(|length| length == "0")
                && !headers.contains_key("transfer-encoding") =>
        {
            Ok(T::default())
        }
        Err(rejection) => Err(rejection.into()),
    }
}

impl Wishes {
    fn verb(self, verb: &str, group: GroupName) -> Result<Verb, Problem> {
        let plain = self.to.is_none() && self.policy.is_none() && self.within.is_none();
        match verb {
            "abort" => Ok(Verb::Abort {
                group,
                to: self.to.as_deref().map(name).transpose()?,
                policy: self.policy.map(|policy| match policy {
                    Policy::Move => RollbackPolicy::Move,
                    Policy::Stay => RollbackPolicy::Stay,
                    Policy::End => RollbackPolicy::End,
                }),
                within: self.within.as_deref().map(duration).transpose()?,
                force: self.force,
            }),
            "retire" if plain => Ok(Verb::Retire {
                group,
                force: self.force,
            }),
            "promote" if plain && !self.force => Ok(Verb::Promote(group)),
            "drain" if plain && !self.force => Ok(Verb::Drain(group)),
            "restore" if plain && !self.force => Ok(Verb::Restore(group)),
            "promote" | "drain" | "restore" => {
                Err(Problem::bad_request(format!("{verb} takes no options")))
            }
            "retire" => Err(Problem::bad_request("retire takes only force")),
            _ => Err(Problem::new(
                StatusCode::NOT_FOUND,
                "not-found",
                "there is no such verb",
            )),
        }
    }
}

async fn run(
    options: AdminOptions,
    peer: Peer,
    mode: Mode,
    headers: &HeaderMap,
    verb: Verb,
) -> Result<Response, Problem> {
    let request = Request {
        who: who(peer),
        if_match: if_match(headers)?,
        verb,
    };
    let control = options.control.clone();
    if mode == Mode::Preview {
        let name = request.verb.name();
        let preview = blocking(move || control.preview(&request)).await?;
        return Ok(preview::answer(&options, name, &preview));
    }
    // it is kept before it is visible
    let changed = blocking(move || control.change(&request)).await?;
    let revision = changed.after.revision().0;
    let before = changed.before.revision().0;
    let (held, why) = match changed.held {
        Held::All => ("all", None),
        Held::Replica => ("replica", Some("out-of-reach")),
        Held::Nowhere => ("replica", Some("not-kept")),
    };
    let accepted = Accepted {
        before,
        revision,
        held,
        why,
        changed: changed.before != changed.after,
        rollout: RolloutView::of(&options.control, &changed.after),
    };
    Ok(([(ETAG, format!("\"{revision}\""))], Json(accepted)).into_response())
}

/// Who asks, as the audit log names them.
pub(super) fn who(peer: Peer) -> String {
    peer.map_or_else(
        || "admin".to_owned(),
        |peer| format!("admin at {}", peer.0.0),
    )
}

/// Runs what waits for a disk, or for the shared state.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ControlError> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await.map_err(|_| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed",
            "the change was not made",
        )
    })?;
    Ok(done?)
}

fn name(text: &str) -> Result<GroupName, Problem> {
    text.parse()
        .map_err(|error| Problem::bad_request(format!("{error}")))
}

fn weight(number: u64) -> Result<Weight, Problem> {
    Weight::new(number).map_err(|error| Problem::bad_request(format!("{number}: {error}")))
}

fn duration(text: &str) -> Result<Duration, Problem> {
    humantime::parse_duration(text)
        .map_err(|_| Problem::bad_request("within: a duration such as \"10m\" is needed"))
}

pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<Revision>, Problem> {
    let Some(value) = headers.get(IF_MATCH) else {
        return Ok(None);
    };
    let number = value
        .to_str()
        .ok()
        .map(|text| text.trim().trim_matches('"'));
    match number.and_then(|text| text.parse().ok()) {
        Some(revision) => Ok(Some(Revision(revision))),
        None => Err(Problem::bad_request(
            "If-Match: the number of a revision is needed",
        )),
    }
}
