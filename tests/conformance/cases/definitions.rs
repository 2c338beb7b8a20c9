//! PRIORITY, RST_STREAM, PING, GOAWAY and PUSH_PROMISE.

use affinity_tests::http2::{block, code, flag, frame, kind};

use crate::conformance::case::{Case, Expected, case, send};
use crate::conformance::requests::{
    GET, data, get, goaway, half_closed, head, post, priority, rst, window,
};

const PROTOCOL: Expected = Expected::ConnectionError(&[code::PROTOCOL_ERROR]);
const SIZE: Expected = Expected::ConnectionError(&[code::FRAME_SIZE_ERROR]);

pub(super) fn cases() -> Vec<Case> {
    [priorities(), resets(), pings(), others()].concat()
}

fn priorities() -> Vec<Case> {
    let of = |octets: usize| frame(kind::PRIORITY, flag::NONE, 1, &vec![0; octets]);
    let weight = |weight| frame(kind::PRIORITY, flag::NONE, 1, &[0, 0, 0, 0, weight]);
    let exclusive = frame(kind::PRIORITY, flag::NONE, 3, &[0x80, 0, 0, 1, 0]);
    let size = |fact: &str, bytes| {
        let script = send([post(1), bytes].concat());
        case(
            "9113 6.3",
            fact,
            script,
            Expected::StreamError(1, &[code::FRAME_SIZE_ERROR]),
        )
    };
    vec![
        case(
            "9113 6.3",
            "PRIORITY on stream 0 ends the connection",
            send(priority(0, 1)),
            PROTOCOL,
        ),
        size("PRIORITY of 4 octets is an error", of(4)),
        size("PRIORITY of 6 octets is an error", of(6)),
        case(
            "9113 6.3",
            "every weight and dependency is allowed",
            send([weight(0), weight(255), priority(1, 3), exclusive, get(5)].concat()),
            Expected::Answer(5),
        ),
    ]
}

fn resets() -> Vec<Case> {
    let of = |octets: usize| frame(kind::RST_STREAM, flag::NONE, 1, &vec![0; octets]);
    vec![
        case(
            "9113 6.4",
            "RST_STREAM on stream 0 ends the connection",
            send(rst(0, code::CANCEL)),
            PROTOCOL,
        ),
        case(
            "9113 6.4",
            "RST_STREAM of 3 octets ends the connection",
            send([post(1), of(3)].concat()),
            SIZE,
        ),
        case(
            "9113 6.4",
            "RST_STREAM of 5 octets ends the connection",
            send([post(1), of(5)].concat()),
            SIZE,
        ),
        case(
            "9113 6.4",
            "RST_STREAM ends no more than its stream",
            send([post(1), data(1, b"a"), rst(1, code::CANCEL), get(3)].concat()),
            Expected::Answer(3),
        ),
    ]
}

fn pings() -> Vec<Case> {
    let ping = |flags, stream, payload: &[u8]| send(frame(kind::PING, flags, stream, payload));
    vec![
        case(
            "9113 6.7",
            "a PING is answered",
            ping(flag::NONE, 0, b"payload."),
            Expected::Alive,
        ),
        case(
            "9113 6.7",
            "a PING with ACK is not answered",
            ping(flag::ACK, 0, b"payload."),
            Expected::NoPong(*b"payload."),
        ),
        case(
            "9113 6.7",
            "PING on a stream ends the connection",
            ping(0, 1, b"payload."),
            PROTOCOL,
        ),
        case(
            "9113 6.7",
            "PING of 7 octets ends the connection",
            ping(0, 0, b"payload"),
            SIZE,
        ),
        case(
            "9113 6.7",
            "PING of 9 octets ends the connection",
            ping(0, 0, b"payload.."),
            SIZE,
        ),
    ]
}

fn others() -> Vec<Case> {
    let promise = [&[0, 0, 0, 2], &*block(&GET)].concat();
    let promise = frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &promise);
    let mut misplaced = goaway(code::NO_ERROR);
    // the last octet of the stream
    misplaced[8] = 1;
    vec![
        case(
            "9113 6.8",
            "GOAWAY on a stream ends the connection",
            send(misplaced),
            PROTOCOL,
        ),
        case(
            "9113 6.8",
            "GOAWAY lets running streams end",
            half_closed(1).then([goaway(code::NO_ERROR), window(1, 100)].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 8.4",
            "PUSH_PROMISE from a client ends the connection",
            send([head(1, &GET), promise].concat()),
            PROTOCOL,
        ),
    ]
}
