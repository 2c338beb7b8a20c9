//! Header blocks over several frames.

use affinity_tests::http2::{Field, block, code, flag, frame, kind};

use crate::conformance::case::{Case, Expected, Script, case, send};
use crate::conformance::requests::{
    GET, POST, continuation, data, get, head, last_data, post, priority, settings,
};

const MORE: [Field<'_>; 1] = [("x-more", "1")];

const PROTOCOL: Expected = Expected::ConnectionError(&[code::PROTOCOL_ERROR]);

/// The beginning of a request whose block goes on.
fn begun(stream: u32) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_STREAM, stream, &block(&GET))
}

pub(super) fn cases() -> Vec<Case> {
    [whole(), torn(), alone()].concat()
}

fn whole() -> Vec<Case> {
    let (first, second) = (block(&GET[..2]), block(&GET[2..]));
    let last = continuation(flag::END_HEADERS, 1, &MORE);
    let open = frame(kind::HEADERS, flag::NONE, 1, &block(&POST));
    vec![
        case(
            "9113 6.10",
            "a block may go on in one CONTINUATION",
            send([begun(1), last.clone()].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 6.10",
            "a block may go on in several CONTINUATIONs",
            send(
                [
                    begun(1),
                    continuation(flag::NONE, 1, &[("x", "1")]),
                    last.clone(),
                ]
                .concat(),
            ),
            Expected::Answer(1),
        ),
        case(
            "9113 6.10",
            "a block may be torn within a field",
            send(
                [
                    frame(
                        kind::HEADERS,
                        flag::END_STREAM,
                        1,
                        &first[..first.len() - 3],
                    ),
                    frame(kind::CONTINUATION, flag::NONE, 1, &first[first.len() - 3..]),
                    frame(kind::CONTINUATION, flag::END_HEADERS, 1, &second),
                ]
                .concat(),
            ),
            Expected::Answer(1),
        ),
        case(
            "9113 6.10",
            "an empty CONTINUATION ends a block",
            send([begun(1), continuation(flag::END_HEADERS, 1, &[])].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 6.10",
            "a body follows a block in two frames",
            send([open, last, last_data(1, b"body")].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 10.5.1",
            "a block without an end ends the connection",
            send(begun(1)).repeat(continuation(flag::NONE, 1, &MORE), 20_000),
            Expected::ConnectionError(&[code::ENHANCE_YOUR_CALM, code::PROTOCOL_ERROR]),
        ),
    ]
}

/// Between the frames of a block there is nothing else.
fn torn() -> Vec<Case> {
    let ping = frame(kind::PING, flag::NONE, 0, b"payload.");
    let unknown = frame(0x16, flag::NONE, 0, b"unknown.");
    let within = [
        ("9113 4.3", "PRIORITY", priority(1, 0)),
        ("9113 4.3", "HEADERS of another stream", get(3)),
        ("9113 4.3", "HEADERS of the same stream", get(1)),
        ("9113 4.3", "PING", ping),
        ("9113 4.3", "SETTINGS", settings(&[])),
        ("9113 5.5", "a frame of unknown type", unknown),
        ("9113 6.2", "DATA", data(1, b"body")),
        (
            "9113 6.10",
            "CONTINUATION of another stream",
            continuation(0, 3, &MORE),
        ),
    ];
    let within = within.into_iter().map(|(section, what, between)| {
        let script = send([begun(1), between, continuation(flag::END_HEADERS, 1, &MORE)].concat());
        case(
            section,
            format!("{what} within a block ends the connection"),
            script,
            PROTOCOL,
        )
    });
    within.collect()
}

/// CONTINUATION without a block that it could go on with.
fn alone() -> Vec<Case> {
    let last = || continuation(flag::END_HEADERS, 1, &MORE);
    let after = |what: &str, script: Script| {
        case(
            "9113 6.10",
            format!("CONTINUATION {what} ends the connection"),
            script,
            PROTOCOL,
        )
    };
    vec![
        after(
            "on stream 0",
            send(continuation(flag::END_HEADERS, 0, &MORE)),
        ),
        after(
            "on stream 0 within a block",
            send([begun(1), continuation(flag::END_HEADERS, 0, &MORE)].concat()),
        ),
        after("after whole HEADERS", send([get(1), last()].concat())),
        after(
            "after the last CONTINUATION",
            send([begun(1), last(), last()].concat()),
        ),
        after(
            "after DATA",
            send([post(1), data(1, b"body"), last()].concat()),
        ),
        case(
            "9113 4.3",
            "a block that cannot be decoded ends the connection",
            send(frame(kind::HEADERS, 5, 1, &[0x40])),
            Expected::ConnectionError(&[code::COMPRESSION_ERROR]),
        ),
        case(
            "9113 4.3",
            "trailers that cannot be decoded end the connection",
            send([head(1, &POST), frame(kind::HEADERS, 5, 1, &[0x40])].concat()),
            Expected::ConnectionError(&[code::COMPRESSION_ERROR]),
        ),
    ]
}
