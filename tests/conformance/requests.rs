//! Requests and frames that many cases share.

use affinity_tests::http2::{Field, block, flag, frame, kind, request};

use super::case::{Script, send};

/// What every answer of status 200 carries.
pub(super) const BODY: &str = "sixteen octets..";

/// Requests for it are never answered, and their bodies never read.
pub(super) const STUCK: &str = "/stuck";

/// The path of requests that nobody may forward.
pub(super) const MALFORMED: &str = "/malformed";

pub(super) const METHOD: Field<'_> = (":method", "GET");
pub(super) const SCHEME: Field<'_> = (":scheme", "http");
pub(super) const PATH: Field<'_> = (":path", "/");
pub(super) const AUTHORITY: Field<'_> = (":authority", "shop.example");

pub(super) const GET: [Field<'_>; 4] = [METHOD, SCHEME, PATH, AUTHORITY];
pub(super) const POST: [Field<'_>; 4] = [(":method", "POST"), SCHEME, PATH, AUTHORITY];

pub(super) fn get(stream: u32) -> Vec<u8> {
    request(stream, &GET)
}

/// The head of a request whose body is to come.
pub(super) fn post(stream: u32) -> Vec<u8> {
    head(stream, &POST)
}

pub(super) fn head(stream: u32, fields: &[Field<'_>]) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS, stream, &block(fields))
}

pub(super) fn last_data(stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(kind::DATA, flag::END_STREAM, stream, payload)
}

pub(super) fn data(stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(kind::DATA, flag::NONE, stream, payload)
}

pub(super) fn rst(stream: u32, code: u32) -> Vec<u8> {
    frame(kind::RST_STREAM, flag::NONE, stream, &code.to_be_bytes())
}

pub(super) fn window(stream: u32, increment: u32) -> Vec<u8> {
    let increment = increment.to_be_bytes();
    frame(kind::WINDOW_UPDATE, flag::NONE, stream, &increment)
}

/// PRIORITY: depends on `on`, with the weight 16.
pub(super) fn priority(stream: u32, on: u32) -> Vec<u8> {
    frame(kind::PRIORITY, flag::NONE, stream, &depends(on))
}

pub(super) fn depends(on: u32) -> Vec<u8> {
    [&on.to_be_bytes()[..], &[15]].concat()
}

pub(super) fn continuation(flags: u8, stream: u32, fields: &[Field<'_>]) -> Vec<u8> {
    frame(kind::CONTINUATION, flags, stream, &block(fields))
}

pub(super) fn goaway(code: u32) -> Vec<u8> {
    let payload = [[0; 4], code.to_be_bytes()].concat();
    frame(kind::GOAWAY, flag::NONE, 0, &payload)
}

pub(super) fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (name, value) in values {
        payload.extend(name.to_be_bytes());
        payload.extend(value.to_be_bytes());
    }
    frame(kind::SETTINGS, flag::NONE, 0, &payload)
}

/// The names of settings.
pub(super) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
}

/// A request whose answer has begun, and cannot end: no window is open for its body. So the stream
/// stays half-closed from the client's side.
pub(super) fn half_closed(stream: u32) -> Script {
    let closed = settings(&[(setting::INITIAL_WINDOW_SIZE, 0)]);
    send([closed, get(stream)].concat()).after_head(stream)
}

/// A request that has been answered to its end.
pub(super) fn closed(stream: u32) -> Script {
    send(get(stream)).after_end(stream)
}
