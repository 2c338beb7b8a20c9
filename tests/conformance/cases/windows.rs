//! Flow control, of what we send and of what we take.

use affinity_tests::http2::{code, flag, frame, kind};

use crate::conformance::case::{Case, Expected, case, opened, send};
use crate::conformance::requests::setting::INITIAL_WINDOW_SIZE;
use crate::conformance::requests::{
    AUTHORITY, SCHEME, STUCK, data, get, half_closed, head, post, settings, window,
};

/// The largest window.
const MOST: u32 = u32::MAX >> 1;

/// More DATA of 2^14 octets than windows and sockets on the way to an endpoint hold.
const TOO_MUCH: usize = 4096;

const FLOW: &[u32] = &[code::FLOW_CONTROL_ERROR];
const SIZE: Expected = Expected::ConnectionError(&[code::FRAME_SIZE_ERROR]);

pub(super) fn cases() -> Vec<Case> {
    [updates(), overflows(), obeyed()].concat()
}

fn initial(octets: u32) -> Vec<u8> {
    settings(&[(INITIAL_WINDOW_SIZE, octets)])
}

fn updates() -> Vec<Case> {
    let of = |octets: usize| send(frame(kind::WINDOW_UPDATE, flag::NONE, 0, &vec![1; octets]));
    vec![
        case(
            "9113 6.9",
            "WINDOW_UPDATE of 0 ends the connection",
            send(window(0, 0)),
            Expected::ConnectionError(&[code::PROTOCOL_ERROR]),
        ),
        case(
            "9113 6.9",
            "WINDOW_UPDATE of 0 on a stream is an error",
            half_closed(1).then(window(1, 0)),
            Expected::StreamError(1, &[code::PROTOCOL_ERROR]),
        ),
        case(
            "9113 6.9",
            "WINDOW_UPDATE of 3 octets ends the connection",
            of(3),
            SIZE,
        ),
        case(
            "9113 6.9",
            "WINDOW_UPDATE of 5 octets ends the connection",
            of(5),
            SIZE,
        ),
        case(
            "9113 6.9",
            "the reserved bit of WINDOW_UPDATE is ignored",
            half_closed(1).then(window(1, (1 << 31) | 100)),
            Expected::Answer(1),
        ),
    ]
}

fn overflows() -> Vec<Case> {
    let stuck = head(
        1,
        &[(":method", "POST"), SCHEME, (":path", STUCK), AUTHORITY],
    );
    vec![
        case(
            "9113 6.9.1",
            "a window of the connection above 2^31-1 ends it",
            send([window(0, MOST), window(0, MOST)].concat()),
            Expected::ConnectionError(FLOW),
        ),
        case(
            "9113 6.9.1",
            "a window of a stream above 2^31-1 is an error",
            half_closed(1).then([window(1, 1), window(1, MOST)].concat()),
            Expected::StreamError(1, FLOW),
        ),
        case(
            "9113 6.9.2",
            "settings that make a window exceed 2^31-1 end the connection",
            send([post(1), window(1, MOST - 65_535), initial(65_536)].concat()),
            Expected::ConnectionError(FLOW),
        ),
        case(
            "9113 6.9.1",
            "a body beyond the window is an error",
            send(stuck).repeat(data(1, &[0; 1 << 14]), TOO_MUCH),
            Expected::StreamError(1, FLOW),
        ),
    ]
}

fn obeyed() -> Vec<Case> {
    vec![
        case(
            "9113 6.9.1",
            "no more of a body is sent than the window allows",
            send([initial(1), get(1)].concat()).after_data(1, 1),
            Expected::Held(1, 1),
        ),
        case(
            "9113 6.9.1",
            "the rest of a body is sent once the window allows",
            send([initial(1), get(1)].concat())
                .after_data(1, 1)
                .then(window(1, 100)),
            Expected::Answer(1),
        ),
        case(
            "9113 6.9.2",
            "a body is held while the window is empty",
            half_closed(1),
            Expected::Held(1, 0),
        ),
        case(
            "9113 6.9.2",
            "settings open the windows of running streams",
            half_closed(1).then(initial(1)).after_data(1, 1),
            Expected::Held(1, 1),
        ),
        case(
            "9113 6.9.2",
            "settings may make a window negative",
            opened()
                .then([initial(3), get(1)].concat())
                .after_data(1, 3)
                .then([initial(2), window(1, 2)].concat())
                .after_data(1, 4),
            Expected::Held(1, 4),
        ),
    ]
}
