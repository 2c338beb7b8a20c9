//! How a connection begins, what a frame is, and what is unknown.

use affinity_tests::http2::{PREFACE, code, flag, frame, kind};

use crate::conformance::case::{Case, Expected, case, opened, raw, send};
use crate::conformance::requests::{
    closed, data, get, goaway, half_closed, last_data, post, rst, settings, window,
};

pub(super) fn cases() -> Vec<Case> {
    [preface(), format(), size(), unknown()].concat()
}

fn preface() -> Vec<Case> {
    let begun = || [PREFACE, &settings(&[])].concat();
    let bytes = begun().into_iter().map(|octet| vec![octet]);
    let slowly = bytes.fold(raw(Vec::new()), |script, octet| script.then(octet));
    vec![
        case(
            "9113 3.4",
            "the server's first frame is SETTINGS",
            opened(),
            Expected::Alive,
        ),
        case(
            "9113 3.4",
            "bytes that are no preface end the connection",
            raw(b"INVALID CONNECTION PREFACE\r\n\r\n".to_vec()),
            Expected::ConnectionError(&[code::PROTOCOL_ERROR]),
        ),
        case(
            "9113 3.4",
            "a preface that goes wrong in its second half ends the connection",
            raw(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_vec()),
            Expected::ConnectionError(&[code::PROTOCOL_ERROR]),
        ),
        case(
            "9113 3.4",
            "a preface octet by octet is understood",
            slowly.then(get(1)),
            Expected::Answer(1),
        ),
        case(
            "9113 3.4",
            "a request may follow the preface before the server's SETTINGS are known",
            raw([begun(), get(1)].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 3.4",
            "another first frame than SETTINGS ends the connection",
            raw([PREFACE, &get(1)].concat()),
            Expected::ConnectionError(&[code::PROTOCOL_ERROR]),
        ),
    ]
}

fn format() -> Vec<Case> {
    let ping = |flags, stream| frame(kind::PING, flags, stream, b"payload.");
    vec![
        case(
            "9113 4.1",
            "undefined flags are ignored",
            send(ping(0xfe, 0)),
            Expected::Alive,
        ),
        case(
            "9113 4.1",
            "the reserved bit before the stream is ignored",
            send(ping(flag::NONE, 1 << 31)),
            Expected::Alive,
        ),
        case(
            "9113 4.1",
            "the reserved bit before the stream of a request is ignored",
            send(get((1 << 31) | 1)),
            Expected::Answer(1),
        ),
    ]
}

fn size() -> Vec<Case> {
    let of = |octets: usize| vec![b'x'; octets];
    let size_error: &[u32] = &[code::FRAME_SIZE_ERROR];
    let empty = |kind, flags, stream| send(frame(kind, flags, stream, &[]));
    vec![
        case(
            "9113 4.2",
            "DATA of 2^14 octets is taken",
            send([post(1), last_data(1, &of(1 << 14))].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 4.2",
            "DATA longer than SETTINGS_MAX_FRAME_SIZE is an error",
            send([post(1), last_data(1, &of((1 << 14) + 1))].concat()),
            Expected::StreamError(1, size_error),
        ),
        case(
            "9113 4.2",
            "HEADERS longer than SETTINGS_MAX_FRAME_SIZE end the connection",
            send(frame(kind::HEADERS, 5, 1, &of((1 << 14) + 1))),
            Expected::ConnectionError(size_error),
        ),
        case(
            "9113 4.2",
            "SETTINGS longer than SETTINGS_MAX_FRAME_SIZE end the connection",
            send(settings(&[(0xff, 0); 2731])),
            Expected::ConnectionError(size_error),
        ),
        case(
            "9113 4.2",
            "an unknown frame longer than SETTINGS_MAX_FRAME_SIZE is an error",
            send(frame(0x16, flag::NONE, 0, &of((1 << 14) + 1))),
            Expected::ConnectionError(size_error),
        ),
        case(
            "9113 4.2",
            "GOAWAY too short for its fields ends the connection",
            send(frame(kind::GOAWAY, flag::NONE, 0, &of(7))),
            Expected::ConnectionError(size_error),
        ),
        // padding longer than what there is, too (RFC 9113, 6.1 and 6.2)
        case(
            "9113 4.2",
            "DATA too short for the length of its padding end the connection",
            send([post(1), frame(kind::DATA, flag::PADDED, 1, &[])].concat()),
            Expected::ConnectionError(&[code::FRAME_SIZE_ERROR, code::PROTOCOL_ERROR]),
        ),
        case(
            "9113 4.2",
            "HEADERS too short for the length of their padding end the connection",
            empty(kind::HEADERS, flag::END_HEADERS | flag::PADDED, 1),
            Expected::ConnectionError(&[code::FRAME_SIZE_ERROR, code::PROTOCOL_ERROR]),
        ),
        case(
            "9113 4.2",
            "HEADERS too short for their priority end the connection",
            send(frame(
                kind::HEADERS,
                flag::END_HEADERS | flag::PRIORITY,
                1,
                &[0; 4],
            )),
            Expected::ConnectionError(size_error),
        ),
    ]
}

fn unknown() -> Vec<Case> {
    let extension = |stream| frame(0x16, 0xff, stream, b"unknown.");
    vec![
        case(
            "9113 5.5",
            "a frame of unknown type is ignored",
            send(extension(0)),
            Expected::Alive,
        ),
        case(
            "9113 5.5",
            "a frame of unknown type on an idle stream is ignored",
            send([extension(1), get(1)].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 5.5",
            "a frame of unknown type within a body is ignored",
            send([post(1), data(1, b"a"), extension(1), last_data(1, b"b")].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 5.5",
            "a frame of unknown type on a closed stream is ignored",
            closed(1).then(extension(1)),
            Expected::Alive,
        ),
        case(
            "9113 7",
            "GOAWAY of an unknown code lets running streams end",
            half_closed(1).then([goaway(0xff), window(1, 100)].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 7",
            "RST_STREAM of an unknown code ends no more than its stream",
            half_closed(1).then(rst(1, 0xff)),
            Expected::Alive,
        ),
    ]
}
