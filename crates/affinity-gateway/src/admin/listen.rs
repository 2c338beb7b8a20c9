//! `GET /v1/events`: what happens, while it happens, as a stream of server-sent events.
//!
//! A stream begins with what the ring still holds after `Last-Event-ID`, and remembers no more than
//! the last id that it has sent: who reads slowly misses what the ring has let go meanwhile, and who
//! takes nothing at all is cut by the listener like any client. Between the events comes a snapshot
//! of everything about once a second, made when it can be sent.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::IntoResponse;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::AdminOptions;
use super::overview::Sampler;
use super::problem::Problem;
use super::streams::Place;
use crate::events::{Event, Events};

/// How often a snapshot is sent.
const SNAPSHOT: Duration = Duration::from_secs(1);

/// How long a stream is silent at most: proxies close what says nothing for a minute.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// One event as it is sent. The time is in milliseconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
struct EventView<'a> {
    id: u64,
    at: u64,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    text: &'a str,
}

/// Who listens.
struct Listener {
    events: Events,
    told: watch::Receiver<()>,
    /// The id of the last event that was sent, or that the listener has from an earlier stream.
    seen: Option<u64>,
    /// What is to be sent next; at most what the ring holds.
    next: VecDeque<Arc<Event>>,
    snapshots: Option<(Sampler, Interval)>,
    /// Whether a snapshot is to be sent next: before events, so that many of them cannot hold it up.
    due: bool,
    ending: CancellationToken,
    _place: Place,
}

#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "rollout",
    operation_id = "events",
    summary = "What happens, while it happens",
    params(
        ("overview" = Option<bool>, Query, description = "`false`: without overviews"),
        ("last-event-id" = Option<String>, Header, description = "What came after this event")
    ),
    responses((status = 200, body = EventView, content_type = "text/event-stream", description = "Server-sent events: `happened`, each with an id, and `overview` about once a second"))
)]
pub(super) async fn events(
    State(options): State<AdminOptions>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let snapshots = match query.as_deref() {
        None | Some("" | "overview=true") => true,
        Some("overview=false") => false,
        Some(_) => {
            return Err(Problem::bad_request(
                "the query of the events is ?overview=false or none",
            ));
        }
    };
    let seen = match headers.get("last-event-id") {
        None => None,
        Some(id) => Some(
            id.to_str()
                .ok()
                .and_then(|id| id.parse().ok())
                .ok_or_else(|| {
                    Problem::bad_request("Last-Event-ID: the id of an event is needed")
                })?,
        ),
    };
    let Some(place) = options.streams.place() else {
        tracing::warn!("a stream of events was refused: too many are open");
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-many-streams",
            "too many streams of events are open",
        ));
    };
    let events = options.control.events().clone();
    let mut ticks = interval(SNAPSHOT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let listener = Listener {
        told: events.told(),
        next: events.after(seen).into(),
        events,
        seen,
        snapshots: snapshots.then(|| (options.overview.clone(), ticks)),
        due: false,
        ending: options.ending,
        _place: place,
    };
    let heartbeat = KeepAlive::new().interval(HEARTBEAT);
    Ok(Sse::new(listener.stream()).keep_alive(heartbeat))
}

impl Listener {
    fn stream(self) -> impl Stream<Item = Result<sse::Event, Infallible>> {
        unfold(self, async |mut listener| {
            let event = listener.event().await?;
            Some((Ok(event), listener))
        })
    }

    /// The next thing to be sent; `None` at the end.
    async fn event(&mut self) -> Option<sse::Event> {
        loop {
            if self.ending.is_cancelled() {
                return None;
            }
            if std::mem::take(&mut self.due)
                && let Some((sampler, _)) = &self.snapshots
                // one that could not be made comes with the next tick
                && let Ok(text) = sampler.overview().await
            {
                return Some(sse::Event::default().event("overview").data(text));
            }
            if let Some(event) = self.next.pop_front() {
                self.seen = Some(event.id);
                return Some(sent(&event));
            }
            tokio::select! {
                () = self.ending.cancelled() => return None,
                told = self.told.changed() => {
                    told.ok()?;
                    self.next = self.events.after(self.seen).into();
                }
                () = due(&mut self.snapshots) => self.due = true,
            }
        }
    }
}

/// Ready when a snapshot is due; never if none is wanted.
async fn due(snapshots: &mut Option<(Sampler, Interval)>) {
    match snapshots {
        Some((_, ticks)) => {
            ticks.tick().await;
        }
        None => std::future::pending().await,
    }
}

fn sent(event: &Event) -> sse::Event {
    let view = EventView {
        id: event.id,
        at: event.at.as_millis(),
        kind: event.kind.as_str(),
        group: event.group.as_ref().map(|group| group.as_str()),
        text: &event.text,
    };
    // a view of numbers and texts has a text
    let data = serde_json::to_string(&view).unwrap_or_default();
    let id = event.id.to_string();
    sse::Event::default().event("happened").id(id).data(data)
}
