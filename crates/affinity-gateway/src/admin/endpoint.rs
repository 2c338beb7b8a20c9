//! Drains one endpoint of a group on this replica, and takes that back.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::ETAG;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tower_affinity::balance::EndpointState;
use tower_affinity::core::Level;
use utoipa::ToSchema;

use super::AdminOptions;
use super::preview::Mode;
use super::problem::Problem;
use super::verbs::{Body, Peer, blocking, if_match, or_none, who};
use super::views::{EndpointView, find, live_sessions};
use crate::control::{Marked, Wish};

/// What a drain takes; its end takes nothing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    #[serde(default)]
    force: bool,
}

/// The answer to an accepted mark, or to its preview. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
struct MarkView {
    /// Absent in the answer to a change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    preview: bool,
    verb: &'static str,
    revision: u64,
    /// `all` for the only replica; else `replica`, since each has marks of its own.
    held: &'static str,
    changed: bool,
    group: String,
    /// `null` if the group has it not now.
    endpoint: Option<EndpointView>,
    /// Other endpoints of the group that take requests here.
    ready_others: usize,
    /// Sessions that go on coming to it; absent where no scope binds sessions to endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<BoundView>,
}

/// How many sessions are bound to one endpoint is not counted, but how many at most.
#[derive(Debug, Serialize, ToSchema)]
struct BoundView {
    /// The live sessions of the whole group, to 5 %.
    at_most: u64,
    /// The latest expiry of a pin to the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_expiry: Option<u64>,
}

#[utoipa::path(
    post,
    path = "/v1/groups/{group}/endpoints/{address}/{verb}",
    tag = "groups",
    operation_id = "mark",
    summary = "Drains one endpoint on this replica, or ends that",
    request_body = Option<Options>,
    params(
        ("group" = String, Path, description = "The name of a group"),
        ("address" = String, Path, description = "IP:PORT"),
        ("verb" = String, Path, description = "`drain` or `undrain`"),
        ("preview" = Option<bool>, Query, description = "Only what would happen: nothing is done"),
        ("if-match" = Option<String>, Header, description = "The revision that was seen")
    ),
    responses((status = 200, body = MarkView, description = "Made; with `?preview=true` a preview, and nothing is done"))
)]
pub(super) async fn mark(
    State(options): State<AdminOptions>,
    Path((group, address, verb)): Path<(String, String, String)>,
    peer: Peer,
    mode: Mode,
    headers: HeaderMap,
    body: Body<Options>,
) -> Result<Response, Problem> {
    let drain = match verb.as_str() {
        "drain" => true,
        "undrain" => false,
        _ => return Err(no_such_verb()),
    };
    let Options { force } = or_none(body, &headers)?;
    if force && !drain {
        return Err(Problem::bad_request("undrain takes no options"));
    }
    let address: SocketAddr = address.parse().map_err(|_| {
        Problem::bad_request("the address of an endpoint is needed, as IP:PORT or [IP]:PORT")
    })?;
    let rollout = options.control.rollouts().current();
    let wish = Wish {
        who: who(peer),
        if_match: if_match(&headers)?,
        group: find(&rollout, &group)?.name().clone(),
        address,
        drain,
        force,
    };
    let (control, asked) = (options.control.clone(), wish.clone());
    let marked = blocking(move || match mode {
        Mode::Preview => control.preview_mark(&asked),
        Mode::Change => control.mark(&asked),
    });
    let view = MarkView::of(&options, &wish, &marked.await?, mode);
    let tag = format!("\"{}\"", view.revision);
    Ok(([(ETAG, tag)], Json(view)).into_response())
}

impl MarkView {
    fn of(options: &AdminOptions, wish: &Wish, marked: &Marked, mode: Mode) -> Self {
        let control = &options.control;
        let endpoints = control.groups().endpoints(&wish.group);
        let is_meant = |address: SocketAddr| {
            let place = (address.ip().to_canonical(), address.port());
            place == (wish.address.ip().to_canonical(), wish.address.port())
        };
        let (meant, others): (Vec<_>, Vec<_>) =
            endpoints.iter().partition(|e| is_meant(e.address()));
        let ready = others
            .iter()
            .filter(|e| e.state() <= EndpointState::Starting);
        let id = marked.rollout.group(&wish.group).map(|group| group.id());
        Self {
            preview: mode == Mode::Preview,
            verb: wish.name(),
            revision: marked.rollout.revision().0,
            held: match control.shared_reach() {
                None => "all",
                Some(_) => "replica",
            },
            changed: marked.changed,
            group: wish.group.to_string(),
            endpoint: meant.first().map(|endpoint| EndpointView::of(endpoint)),
            ready_others: ready.count(),
            bound: id
                .filter(|_| control.binds(Level::Endpoint))
                .map(|id| BoundView {
                    at_most: live_sessions(options, id),
                    last_expiry: control.expiries().latest(id).map(|expiry| expiry.as_secs()),
                }),
        }
    }
}

fn no_such_verb() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not-found", "there is no such verb")
}
