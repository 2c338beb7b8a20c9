//! The states of streams, and their numbers.

use affinity_tests::http2::{block, code, flag, frame, kind};

use crate::conformance::case::{Case, Expected, case, opened, send};
use crate::conformance::requests::{
    GET, closed, continuation, data, depends, get, half_closed, last_data, post, priority, rst,
    setting, settings, window,
};

/// How many streams both servers allow at once.
const STREAMS: u32 = 200;

const PROTOCOL: Expected = Expected::ConnectionError(&[code::PROTOCOL_ERROR]);
const CLOSED: Expected = Expected::StreamError(1, &[code::STREAM_CLOSED]);
/// For CONTINUATION, which is an error wherever no block goes on (RFC 9113, 6.10).
const NO_BLOCK: Expected = Expected::ConnectionError(&[code::STREAM_CLOSED, code::PROTOCOL_ERROR]);

pub(super) fn cases() -> Vec<Case> {
    [idle(), half(), reset(), ended(), numbers(), dependencies()].concat()
}

fn more(stream: u32) -> Vec<u8> {
    continuation(flag::END_HEADERS, stream, &[("x-more", "1")])
}

fn idle() -> Vec<Case> {
    let on_idle = |what: &str, bytes| {
        let fact = format!("{what} on an idle stream ends the connection");
        case("9113 5.1", fact, send(bytes), PROTOCOL)
    };
    vec![
        on_idle("DATA", last_data(1, b"body")),
        on_idle("RST_STREAM", rst(1, code::CANCEL)),
        on_idle("WINDOW_UPDATE", window(1, 100)),
        on_idle("CONTINUATION", more(1)),
        case(
            "9113 5.1",
            "PRIORITY on an idle stream is allowed",
            send([priority(1, 0), get(1)].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 5.1",
            "PRIORITY on an idle stream does not close lower ones",
            send([priority(5, 0), get(3)].concat()),
            Expected::Answer(3),
        ),
    ]
}

fn half() -> Vec<Case> {
    let then = |what: &str, bytes, expected| {
        let fact = format!("{what} on a half-closed stream");
        case("9113 5.1", fact, half_closed(1).then(bytes), expected)
    };
    vec![
        then("DATA is an error", last_data(1, b"body"), CLOSED),
        then("HEADERS are an error", get(1), CLOSED),
        then("CONTINUATION is an error", more(1), NO_BLOCK),
        then("PRIORITY is allowed", priority(1, 0), Expected::Alive),
        then(
            "WINDOW_UPDATE is allowed",
            window(1, 100),
            Expected::Answer(1),
        ),
        then(
            "RST_STREAM is allowed",
            rst(1, code::CANCEL),
            Expected::Alive,
        ),
    ]
}

fn reset() -> Vec<Case> {
    let then = |what: &str, bytes, expected| {
        let fact = format!("{what} after RST_STREAM from the same side");
        let script = send([post(1), rst(1, code::CANCEL)].concat());
        case("9113 5.1", fact, script.then(bytes), expected)
    };
    vec![
        then("DATA is an error", last_data(1, b"body"), CLOSED),
        then("HEADERS are an error", get(1), CLOSED),
        then("CONTINUATION is an error", more(1), NO_BLOCK),
        then("PRIORITY is allowed", priority(1, 0), Expected::Alive),
        then("another request is answered", get(3), Expected::Answer(3)),
    ]
}

fn ended() -> Vec<Case> {
    let then = |what: &str, bytes, expected| {
        let fact = format!("{what} on a stream that both sides have ended");
        case("9113 5.1", fact, closed(1).then(bytes), expected)
    };
    vec![
        then("DATA is an error", last_data(1, b"body"), CLOSED),
        then(
            "HEADERS end the connection",
            get(1),
            Expected::ConnectionError(&[code::STREAM_CLOSED]),
        ),
        then("CONTINUATION ends the connection", more(1), NO_BLOCK),
        then("PRIORITY is allowed", priority(1, 0), Expected::Alive),
        then(
            "a late WINDOW_UPDATE is allowed",
            window(1, 100),
            Expected::Alive,
        ),
        then(
            "a late RST_STREAM is allowed",
            rst(1, code::CANCEL),
            Expected::Alive,
        ),
    ]
}

fn numbers() -> Vec<Case> {
    let held = settings(&[(setting::INITIAL_WINDOW_SIZE, 0)]);
    let requests = (0..=STREAMS).flat_map(|at| get(2 * at + 1));
    let too_many = send(held.into_iter().chain(requests).collect());
    let refused = Expected::StreamError(
        2 * STREAMS + 1,
        &[code::REFUSED_STREAM, code::PROTOCOL_ERROR],
    );
    let one_ends = half_closed(1)
        .then([window(1, 100), get(3)].concat())
        .after_end(1);
    vec![
        case(
            "9113 5.1.1",
            "an even stream number ends the connection",
            send(get(2)),
            PROTOCOL,
        ),
        case(
            "9113 5.1.1",
            "a lower stream number than before ends the connection",
            send([get(5), get(3)].concat()),
            PROTOCOL,
        ),
        case(
            "9113 5.1.1",
            "stream numbers may be left out",
            send([get(1), get(9)].concat()),
            Expected::Answer(9),
        ),
        case(
            "9113 5.1.1",
            "the highest stream number is served",
            send(get(u32::MAX >> 1)),
            Expected::Answer(u32::MAX >> 1),
        ),
        case(
            "9113 5.1.2",
            "a stream beyond SETTINGS_MAX_CONCURRENT_STREAMS is refused",
            too_many,
            refused,
        ),
        case(
            "9113 5.1.2",
            "streams are ended each for itself",
            one_ends.then(window(3, 100)),
            Expected::Answer(3),
        ),
    ]
}

/// Gone from RFC 9113, which lets a server do either.
fn dependencies() -> Vec<Case> {
    let itself = [depends(1), block(&GET)].concat();
    let flags = flag::END_HEADERS | flag::END_STREAM | flag::PRIORITY;
    let protocol = Expected::StreamError(1, &[code::PROTOCOL_ERROR]);
    vec![
        case(
            "7540 5.3.1",
            "HEADERS that depend on their own stream are an error",
            send(frame(kind::HEADERS, flags, 1, &itself)),
            protocol.clone(),
        ),
        case(
            "7540 5.3.1",
            "PRIORITY that depends on its own stream is an error",
            opened().then([post(1), data(1, b"a"), priority(1, 1)].concat()),
            protocol,
        ),
    ]
}
