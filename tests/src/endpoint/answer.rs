//! How an endpoint answers, by the path it is asked for.

use std::io;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, TRAILER};
use http::{Request, Response, StatusCode};
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, Incoming};
use sha2::{Digest, Sha256};

use super::{Body, Here, socket};

pub(super) async fn answer(
    here: &Here,
    request: Request<Incoming>,
    id: u64,
) -> io::Result<Response<Body>> {
    let path = request.uri().path().to_owned();
    let mut steps = path.trim_start_matches('/').split('/');
    match (steps.next().unwrap_or_default(), steps.next()) {
        ("status", Some(status)) => {
            let status = status.parse().expect("/status/N needs a status");
            told(here, request, id, status).await
        }
        ("hold", _) => {
            here.clone().release().await;
            told(here, request, id, StatusCode::OK).await
        }
        ("echo", _) => Ok(echo(request)),
        ("events", _) => Ok(events(here.clone())),
        ("early", _) => Ok(early(here.clone())),
        ("cut", _) => Err(io::Error::other("asked to cut")),
        ("ws", _) => Ok(socket::switch(here, request)),
        _ => told(here, request, id, StatusCode::OK).await,
    }
}

fn echo(request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut response = Response::new(body.map_err(io::Error::other).boxed_unsync());
    if let Some(names) = head.headers.get(TRAILER) {
        // without their names HTTP/1.1 sends no trailers
        response.headers_mut().insert(TRAILER, names.clone());
    }
    response
}

/// Reads the body, and tells who answered what.
async fn told(
    here: &Here,
    request: Request<Incoming>,
    id: u64,
    status: StatusCode,
) -> io::Result<Response<Body>> {
    let body = request
        .into_body()
        .collect()
        .await
        .map_err(io::Error::other)?
        .to_bytes();
    let hash: String = Sha256::digest(&body)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let text = format!(
        r#"{{"group":"{}","endpoint":"{}","request":{id},"length":{},"sha256":"{hash}"}}"#,
        here.group,
        here.endpoint,
        body.len(),
    );
    let empty = status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED;
    let body = Full::new(if empty { Bytes::new() } else { text.into() });
    let mut response = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // the group in the head as well: some answers have no body
    headers.insert(
        "x-group",
        HeaderValue::from_str(&here.group).expect("a group's name"),
    );
    Ok(response)
}

fn events(here: Here) -> Response<Body> {
    let first = format!("data: {}\n\n", here.group);
    let mut response = stages(here, first, "data: end\n\n");
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn early(here: Here) -> Response<Body> {
    stages(here, "first,".to_owned(), "last")
}

/// One piece now, one at the release.
fn stages(here: Here, first: String, last: &'static str) -> Response<Body> {
    let group = HeaderValue::from_str(&here.group).expect("a group's name");
    let (mut sender, body) = Channel::<Bytes, io::Error>::new(1);
    tokio::spawn(async move {
        let sent = sender.send(Frame::data(first.into())).await;
        here.release().await;
        // a client that went away needs no rest
        if sent.is_ok() {
            drop(sender.send(Frame::data(last.into())).await);
        }
    });
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert("x-group", group);
    response
}

impl Here {
    /// Waits until the fleet is released.
    pub(super) async fn release(mut self) {
        // a fleet that is gone holds nothing back any more
        drop(self.released.wait_for(|released| *released).await);
    }
}
