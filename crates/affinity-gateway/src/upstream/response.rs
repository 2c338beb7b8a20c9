//! From the endpoint's answer to the one that the client gets.

use http::{HeaderMap, Response, StatusCode, header};
use hyper::body::Incoming;

use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError,
    hop::{self, Found},
};

/// Makes an answer fit the client's connection; everything that is not hop-by-hop stays.
pub(super) fn fit(answer: &mut Response<Incoming>) -> Result<(), UpstreamError> {
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        // Nobody asked: what follows it on this connection is no answer to anything.
        return Err(UpstreamError::new(UpstreamFault::Protocol));
    }
    let headers = answer.headers_mut();
    if Found::among(headers).hop {
        if is_ambiguous(headers) {
            return Err(UpstreamError::new(UpstreamFault::Protocol));
        }
        hop::strip(headers);
    }
    Ok(())
}

/// Whether it is a stream of events, which may be silent.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map(|kind| kind.as_bytes());
    let essence = kind.and_then(|kind| kind.split(|byte| *byte == b';').next());
    essence.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
}

/// Two framings, or a transfer coding that would lose its name here: neither can be passed on
/// such that the client surely sees what the endpoint meant.
fn is_ambiguous(headers: &HeaderMap) -> bool {
    let mut codings = hop::tokens(headers, &header::TRANSFER_ENCODING);
    codings.next().is_some_and(|coding| {
        !coding.eq_ignore_ascii_case(b"chunked")
            || codings.next().is_some()
            || headers.contains_key(header::CONTENT_LENGTH)
    })
}
