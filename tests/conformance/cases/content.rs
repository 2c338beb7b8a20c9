//! DATA and HEADERS: what they may carry, and where.

use affinity_tests::http2::{block, code, flag, frame, kind};

use crate::conformance::case::{Case, Expected, case, send};
use crate::conformance::requests::{GET, data, depends, get, half_closed, last_data, post};

const PROTOCOL: Expected = Expected::ConnectionError(&[code::PROTOCOL_ERROR]);
const REQUEST: u8 = flag::END_HEADERS | flag::END_STREAM;

pub(super) fn cases() -> Vec<Case> {
    [bodies(), headers()].concat()
}

fn bodies() -> Vec<Case> {
    let padded = |flags, payload: &[u8]| frame(kind::DATA, flags | flag::PADDED, 1, payload);
    let answered = |fact: &str, frames: &[Vec<u8>]| {
        case("9113 6.1", fact, send(frames.concat()), Expected::Answer(1))
    };
    vec![
        answered("one DATA is a body", &[post(1), last_data(1, b"body")]),
        answered(
            "several DATA are one body",
            &[
                post(1),
                data(1, b"a"),
                data(1, b""),
                data(1, b"b"),
                last_data(1, b"c"),
            ],
        ),
        answered("empty DATA ends a body", &[post(1), last_data(1, b"")]),
        answered(
            "DATA may be padded",
            &[post(1), padded(flag::END_STREAM, b"\x04body\0\0\0\0")],
        ),
        answered(
            "DATA may be padding alone",
            &[post(1), padded(flag::END_STREAM, b"\x04\0\0\0\0")],
        ),
        case(
            "9113 6.1",
            "DATA on stream 0 ends the connection",
            send(data(0, b"body")),
            PROTOCOL,
        ),
        case(
            "9113 6.1",
            "DATA on a stream that is not open is an error",
            half_closed(1).then(data(1, b"body")),
            Expected::StreamError(1, &[code::STREAM_CLOSED]),
        ),
        case(
            "9113 6.1",
            "DATA with more padding than payload end the connection",
            send([post(1), padded(flag::END_STREAM, b"\x06body")].concat()),
            PROTOCOL,
        ),
        case(
            "9113 6.1",
            "DATA with as much padding as payload end the connection",
            send([post(1), padded(flag::END_STREAM, b"\x05body")].concat()),
            PROTOCOL,
        ),
    ]
}

fn headers() -> Vec<Case> {
    let block = block(&GET);
    let headers = |flags, payload: &[u8]| send(frame(kind::HEADERS, REQUEST | flags, 1, payload));
    let padded = [&[4], &*block, &[0; 4]].concat();
    let weighted = [depends(0), block.clone()].concat();
    let both = [&[4], &*weighted, &[0; 4]].concat();
    let too_much = u8::try_from(block.len() + 1).unwrap();
    vec![
        case(
            "9113 6.2",
            "HEADERS may be padded",
            headers(flag::PADDED, &padded),
            Expected::Answer(1),
        ),
        case(
            "9113 6.2",
            "HEADERS may carry a priority",
            headers(flag::PRIORITY, &weighted),
            Expected::Answer(1),
        ),
        case(
            "9113 6.2",
            "HEADERS may carry a priority and be padded",
            headers(flag::PADDED | flag::PRIORITY, &both),
            Expected::Answer(1),
        ),
        case(
            "9113 6.2",
            "HEADERS on stream 0 end the connection",
            send(get(0)),
            PROTOCOL,
        ),
        case(
            "9113 6.2",
            "HEADERS with more padding than payload end the connection",
            headers(flag::PADDED, &[&[too_much], &*block].concat()),
            PROTOCOL,
        ),
    ]
}
