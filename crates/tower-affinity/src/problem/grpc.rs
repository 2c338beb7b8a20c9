//! Our answers as gRPC clients read them: trailers-only, with the type in a detail.
//!
//! A gRPC client takes any status but 200 for a broken transport and shows nothing of a problem
//! document. So for `application/grpc` the same answer is HTTP 200 with `grpc-status` and
//! `grpc-message` in its one header block, and a `google.rpc.ErrorInfo` whose reason is the
//! problem's type.

use std::fmt::Write;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use super::{OwnAnswer, Problem};

/// What our answer says, kept beside it until it is known how its client reads: a response
/// extension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) problem: Problem,
    pub(super) detail: &'static str,
}

/// Whether the fields are those of gRPC. gRPC-Web is not meant: it has trailers in its bodies.
#[must_use]
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map_or(&[][..], |v| v.as_bytes());
    let Some((name, rest)) = kind.split_at_checked(GRPC.len()) else {
        return false;
    };
    name.eq_ignore_ascii_case(GRPC.as_bytes()) && matches!(rest.first(), None | Some(b'+' | b';'))
}

/// Makes an answer of ours one that gRPC clients understand; leaves all others as they are.
///
/// A 421 stays: it is meant for a gateway in front, not for the client.
pub fn speak_grpc<R: From<Bytes>>(response: &mut Response<R>) {
    let status = response.status();
    if status == StatusCode::MISDIRECTED_REQUEST
        || response.extensions().get::<OwnAnswer>().is_none()
    {
        return;
    }
    let Some(Told { problem, detail }) = response.extensions_mut().remove::<Told>() else {
        return;
    };
    let code = code(status);
    *response.body_mut() = R::from(Bytes::new());
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    if headers.remove(RETRY_AFTER).is_some() {
        headers.insert(PUSHBACK, HeaderValue::from_static("1000"));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
    headers.insert(STATUS, HeaderValue::from(code));
    for (name, value) in [
        (MESSAGE, percent_encoded(detail)),
        (DETAILS, base64(&details(code, problem, detail))),
    ] {
        // both are visible ASCII
        if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
            headers.insert(name, value);
        }
    }
}

/// The class of HTTP statuses that a `grpc-status` stands for, as its first digit; `None` where
/// there is no status.
pub(crate) fn status_class(fields: &HeaderMap) -> Option<u16> {
    // every answer is asked, and few have one: to look through its names is quicker than to hash ours
    let mut fields = fields.iter();
    let (_, code) = fields.find(|(name, _)| **name == STATUS)?;
    let code = code.to_str().ok()?;
    Some(match code {
        "0" => 200,
        // cancelled, invalid argument, not found, already exists, permission denied, failed
        // precondition, aborted, out of range, unauthenticated
        "1" | "3" | "5" | "6" | "7" | "9" | "10" | "11" | "16" => 400,
        _ => 500,
    })
}

/// Whether a `grpc-status` says that it is not known who asks (16), or that he may not (7).
pub(crate) fn is_unauthenticated(fields: &HeaderMap) -> bool {
    fields
        .get(STATUS)
        .is_some_and(|code| code == "16" || code == "7")
}

/// gRPC's own mapping of statuses, and 409, which it has none for.
fn code(status: StatusCode) -> u16 {
    match status.as_u16() {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        409 => 9,
        429 | 502..=504 => 14,
        _ => 2,
    }
}

/// A `google.rpc.Status` with one `google.rpc.ErrorInfo`, in protocol buffers.
fn details(code: u16, problem: Problem, message: &str) -> Vec<u8> {
    let reason = match problem {
        Problem::Internal => "INTERNAL".to_owned(),
        _ => problem.kind().to_ascii_uppercase().replace('-', "_"),
    };
    let mut info = Vec::new();
    text(&mut info, 1, reason.as_bytes());
    text(&mut info, 2, DOMAIN.as_bytes());
    let mut any = Vec::new();
    text(&mut any, 1, b"type.googleapis.com/google.rpc.ErrorInfo");
    text(&mut any, 2, &info);
    let mut status = vec![0x08];
    varint(&mut status, code.into());
    text(&mut status, 2, message.as_bytes());
    text(&mut status, 3, &any);
    status
}

/// A field of bytes.
fn text(to: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    to.push(field << 3 | 2);
    varint(to, bytes.len());
    to.extend_from_slice(bytes);
}

fn varint(to: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(byte.into()),
            // a String takes everything
            _ => write!(encoded, "%{byte:02X}").unwrap_or_default(),
        }
    }
    encoded
}

/// Without padding, as gRPC sends binary fields.
fn base64(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..=chunk.len() {
            let sextet = (bits >> (18 - 6 * place) & 0x3f) as u8;
            encoded.push(char::from(match sextet {
                0..=25 => b'A' + sextet,
                26..=51 => b'a' + sextet - 26,
                52..=61 => b'0' + sextet - 52,
                62 => b'+',
                _ => b'/',
            }));
        }
    }
    encoded
}

const GRPC: &str = "application/grpc";
/// Who made the error, in `ErrorInfo`.
const DOMAIN: &str = "tower-affinity";
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn answered(mut response: Response<Bytes>) -> Response<Bytes> {
        speak_grpc(&mut response);
        response
    }

    #[test]
    fn our_refusals_are_trailers_only() {
        for (problem, code) in [
            (Problem::NoReadyEndpoint, "14"),
            (Problem::StateBehind, "14"),
            (Problem::Capacity, "14"),
            (Problem::GroupGone, "9"),
            (Problem::SessionEnded, "9"),
            (Problem::UpstreamError, "14"),
            (Problem::UpstreamTimeout, "14"),
            (Problem::BadRequest, "13"),
            (Problem::Internal, "2"),
        ] {
            let answer = answered(problem.response("why; and how"));
            assert_eq!(answer.status(), StatusCode::OK, "{problem:?}");
            assert!(answer.body().is_empty(), "{problem:?} has a body");
            let headers = answer.headers();
            assert_eq!(headers["content-type"], "application/grpc");
            assert_eq!(headers["grpc-status"], code, "{problem:?}");
            assert_eq!(headers["grpc-message"], "why; and how");
            assert!(!headers.contains_key("content-length"));
            let again = headers.contains_key("grpc-retry-pushback-ms");
            assert_eq!(again, problem.status() == 503, "{problem:?}");
            assert!(answer.extensions().get::<OwnAnswer>().is_some());
        }
    }

    #[test]
    fn the_type_is_in_a_detail() {
        let answer = answered(Problem::GroupGone.response("gone"));
        // google.rpc.Status { code: 9, message: "gone", details: [ErrorInfo { reason, domain }] },
        // as protoc writes it
        let expected = "CAkSBGdvbmUaSAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLkVycm9ySW5mb\
                        xIcCgpHUk9VUF9HT05FEg50b3dlci1hZmZpbml0eQ";
        assert_eq!(answer.headers()["grpc-status-details-bin"], expected);
    }

    #[test]
    fn what_an_endpoint_answered_and_what_a_gateway_reads_stay_as_they_are() {
        let endpoints = answered(Response::builder().status(503).body(Bytes::new()).unwrap());
        assert_eq!(endpoints.status(), 503);
        let status = StatusCode::MISDIRECTED_REQUEST;
        let misdirected = answered(Problem::WrongGroup.response_with(status, "elsewhere"));
        assert_eq!(misdirected.status(), status);
    }

    #[test]
    fn grpc_is_told_by_the_media_type() {
        for (kind, is) in [
            ("application/grpc", true),
            ("Application/gRPC+proto", true),
            ("application/grpc;charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/grpcx", false),
            ("application/json", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            assert_eq!(is_grpc(&headers), is, "{kind:?}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }

    #[test]
    fn messages_and_binary_fields_are_encoded() {
        assert_eq!(percent_encoded("a %\né"), "a %25%0A%C3%A9");
        for (bytes, encoded) in [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v")] {
            assert_eq!(base64(bytes.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }
}
