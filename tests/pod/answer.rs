//! How a pod answers, by the path.
//!
//! | path | answer |
//! | --- | --- |
//! | `/livez` | whether it is healthy; no entry of the ledger |
//! | `/hold` | once it is released |
//! | `/slow/MS` | after that time |
//! | `/bytes/N` | N bytes, their length announced |
//! | `/chunks/N` | N bytes in pieces, their length not announced |
//! | anything else | a short text |
//!
//! Each answer tells the group, the pod, the request's id, the hash of the request's body, and the
//! hash of its own.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use crate::body::Answer;
use crate::control::Switches;
use crate::ledger::Ledger;

/// The largest answer.
const LARGEST: usize = 16 << 20;
/// The largest piece of one whose length is not announced.
const PIECE: usize = 4096;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Pod {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) ledger: Ledger,
    pub(crate) switches: Switches,
}

pub(crate) async fn answer(
    pod: Arc<Pod>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, hyper::Error> {
    if request.uri().path() == "/livez" {
        let healthy = pod.switches.is_healthy();
        let status = if healthy {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        let mut response = Response::new(whole(Bytes::new()));
        *response.status_mut() = status;
        return Ok(response);
    }
    let in_flight = pod.switches.enter();
    let (head, body) = request.into_parts();
    pod.ledger.came(&head);
    let body = body.collect().await?.to_bytes();
    pod.ledger.done(&head);
    sleep(pod.switches.pause()).await;
    pod.switches.work().await;
    let mut steps = head.uri.path().trim_start_matches('/').split('/');
    let step = steps.next().unwrap_or_default();
    let number: usize = steps
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or_default();
    match step {
        "hold" => pod.switches.released().await,
        "slow" => sleep(Duration::from_millis(number as u64)).await,
        _ => {}
    }
    let sized = matches!(step, "bytes" | "chunks");
    let content = if sized {
        filler(number.min(LARGEST))
    } else {
        Bytes::from_static(b"done\n")
    };
    let mut response = Response::new(whole(Bytes::new()));
    let fields = response.headers_mut();
    let mut tell = |name, value: &str| {
        fields.insert(name, HeaderValue::from_str(value).expect("a field's value"));
    };
    tell("x-group", &pod.group);
    tell("x-pod", &pod.name);
    tell("x-request-sha256", &hash(&body));
    tell("x-body-sha256", &hash(&content));
    if let Some(id) = head.headers.get("x-request-id") {
        fields.insert("x-request-id", id.clone());
    }
    if pod.switches.is_leaving() && head.version == Version::HTTP_11 {
        fields.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    *response.status_mut() = pod.switches.status();
    let body = if step == "chunks" {
        pieces(&content)
    } else {
        whole(content)
    };
    // in flight until the body is sent: the closure holds the place
    let held = body.map_err(move |never: Infallible| -> Infallible {
        let _ = &in_flight;
        match never {}
    });
    *response.body_mut() = Answer::new(held);
    Ok(response)
}

/// Bytes in which a missing or repeated piece shows.
fn filler(length: usize) -> Bytes {
    (0..length).map(|at| (at ^ (at >> 8)) as u8).collect()
}

fn whole(content: Bytes) -> Answer {
    Answer::from(content)
}

fn pieces(content: &Bytes) -> Answer {
    let pieces: Vec<_> = content
        .chunks(PIECE)
        .map(|piece| content.slice_ref(piece))
        .collect();
    let frames = pieces
        .into_iter()
        .map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    Answer::new(StreamBody::new(futures_util::stream::iter(frames)))
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
