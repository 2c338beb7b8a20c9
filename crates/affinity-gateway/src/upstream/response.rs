//! From the endpoint's answer to the one that the client gets.

use http::{HeaderMap, Response, StatusCode, header};
use hyper::body::Incoming;

use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError,
    hop::{self, Found},
};

/// Makes an answer fit the client's connection; everything that is not hop-by-hop stays.
pub(super) fn pass_on(
    mut response: Response<Incoming>,
) -> Result<Response<Incoming>, UpstreamError> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        // Nobody asked: what follows it on this connection is no answer to anything.
        return Err(UpstreamError::new(UpstreamFault::Protocol));
    }
    if Found::among(response.headers()).hop {
        if is_ambiguous(response.headers()) {
            return Err(UpstreamError::new(UpstreamFault::Protocol));
        }
        hop::strip(response.headers_mut());
    }
    Ok(response)
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
