//! SETTINGS: their form, their values, their confirmation.

use affinity_tests::http2::{code, flag, frame, kind};

use crate::conformance::case::{Case, Expected, case, send};
use crate::conformance::requests::setting::{
    ENABLE_PUSH, HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE,
};
use crate::conformance::requests::{get, settings};

pub(super) fn cases() -> Vec<Case> {
    [form(), refused(), taken()].concat()
}

fn form() -> Vec<Case> {
    let of =
        |flags, stream, octets: usize| send(frame(kind::SETTINGS, flags, stream, &vec![0; octets]));
    let size = Expected::ConnectionError(&[code::FRAME_SIZE_ERROR]);
    vec![
        case(
            "9113 6.5",
            "SETTINGS with ACK and a payload end the connection",
            of(flag::ACK, 0, 6),
            size.clone(),
        ),
        case(
            "9113 6.5",
            "SETTINGS on a stream end the connection",
            of(flag::NONE, 1, 6),
            Expected::ConnectionError(&[code::PROTOCOL_ERROR]),
        ),
        case(
            "9113 6.5",
            "SETTINGS whose length is no multiple of 6 end the connection",
            of(flag::NONE, 0, 7),
            size,
        ),
    ]
}

fn refused() -> Vec<Case> {
    let protocol: &[u32] = &[code::PROTOCOL_ERROR];
    let values: [(&str, u16, u32, &'static [u32]); 5] = [
        ("ENABLE_PUSH of 2", ENABLE_PUSH, 2, protocol),
        (
            "INITIAL_WINDOW_SIZE of 2^31",
            INITIAL_WINDOW_SIZE,
            1 << 31,
            &[code::FLOW_CONTROL_ERROR],
        ),
        (
            "MAX_FRAME_SIZE below 2^14",
            MAX_FRAME_SIZE,
            (1 << 14) - 1,
            protocol,
        ),
        ("MAX_FRAME_SIZE of 2^24", MAX_FRAME_SIZE, 1 << 24, protocol),
        // RFC 8441
        ("ENABLE_CONNECT_PROTOCOL of 2", 8, 2, protocol),
    ];
    let refused = values.into_iter().map(|(what, name, value, codes)| {
        let fact = format!("SETTINGS_{what} ends the connection");
        let script = send(settings(&[(name, value)]));
        case("9113 6.5.2", fact, script, Expected::ConnectionError(codes))
    });
    refused.collect()
}

fn taken() -> Vec<Case> {
    let answered = |section, fact: &str, values: &[(u16, u32)]| {
        let script = send([settings(values), get(1)].concat());
        case(section, fact, script, Expected::Answer(1))
    };
    vec![
        answered("9113 6.5.2", "an unknown setting is ignored", &[(0xff, 1)]),
        answered(
            "9113 6.5.2",
            "the highest values are allowed",
            &[
                (INITIAL_WINDOW_SIZE, u32::MAX >> 1),
                (MAX_FRAME_SIZE, (1 << 24) - 1),
                (HEADER_TABLE_SIZE, u32::MAX),
            ],
        ),
        answered(
            "9113 6.5.2",
            "a header table of no size is allowed",
            &[(HEADER_TABLE_SIZE, 0)],
        ),
        answered(
            "9113 6.5.3",
            "of two values of a setting the last counts",
            &[(INITIAL_WINDOW_SIZE, 1), (INITIAL_WINDOW_SIZE, 100)],
        ),
        case(
            "9113 6.5.3",
            "an earlier value of a setting does not count",
            send(
                [
                    settings(&[(INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)]),
                    get(1),
                ]
                .concat(),
            )
            .after_data(1, 1),
            Expected::Held(1, 1),
        ),
        case(
            "9113 6.5.3",
            "SETTINGS are confirmed, each one",
            send([settings(&[]), settings(&[]), settings(&[(0xff, 1)])].concat()),
            Expected::Confirmed(4),
        ),
    ]
}
