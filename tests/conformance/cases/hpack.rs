//! Header compression: representations, indices, numbers.

use affinity_tests::http2::{block, code, frame, indexed, integer, kind, literal, text};

use crate::conformance::case::{Case, Expected, Script, case, send};
use crate::conformance::requests::{AUTHORITY, GET, METHOD, PATH, SCHEME};

/// The first entry of the dynamic table.
pub(super) const NEWEST: usize = 62;

/// Adds the field to the dynamic table.
pub(super) const ADD: u8 = 0x40;

pub(super) const DECODING: Expected = Expected::ConnectionError(&[code::COMPRESSION_ERROR]);

pub(super) fn cases() -> Vec<Case> {
    [representations(), indices(), numbers()].concat()
}

/// HEADERS that are a whole request.
pub(super) fn request(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(kind::HEADERS, 5, stream, block)
}

/// As [`GET`], and more.
pub(super) fn with(more: &[u8]) -> Script {
    send(request(1, &[&*block(&GET), more].concat()))
}

fn representations() -> Vec<Case> {
    let answered = |fact: &str, more: &[u8]| case("7541 6", fact, with(more), Expected::Answer(1));
    let named = |first: u8, bits, index| [integer(first, bits, index), text(b"value")].concat();
    // :method GET, :path /, :scheme http
    let tabled = [indexed(2), indexed(4), indexed(6), block(&[AUTHORITY])].concat();
    let remembered = |stream| {
        let block = [block(&[METHOD, SCHEME, PATH]), indexed(NEWEST)].concat();
        request(stream, &block)
    };
    let first = [
        block(&[METHOD, SCHEME, PATH]),
        literal(ADD, AUTHORITY.0, AUTHORITY.1),
    ]
    .concat();
    // malformed, and decoded all the same
    let refused = [&*first, &literal(0, "connection", "close")].concat();
    vec![
        case(
            "7541 6.1",
            "entries of the static table are known",
            send(request(1, &tabled)),
            Expected::Answer(1),
        ),
        case(
            "7541 6.1",
            "entries of the dynamic table are known to later requests",
            send([request(1, &first), remembered(3)].concat()),
            Expected::Answer(3),
        ),
        case(
            "9113 4.3",
            "the block of a malformed request fills the dynamic table",
            send([request(1, &refused), remembered(3)].concat()),
            Expected::Answer(3),
        ),
        // 58 is user-agent
        answered(
            "a literal that is added, of a known name",
            &named(ADD, 6, 58),
        ),
        answered(
            "a literal that is added, of a new name",
            &literal(ADD, "x-test", "1"),
        ),
        answered(
            "a literal that is not added, of a known name",
            &named(0, 4, 58),
        ),
        answered(
            "a literal that is not added, of a new name",
            &literal(0, "x-test", "1"),
        ),
        answered(
            "a literal that is never added, of a known name",
            &named(0x10, 4, 58),
        ),
        answered(
            "a literal that is never added, of a new name",
            &literal(0x10, "x-test", "1"),
        ),
        answered("an empty value", &literal(ADD, "x-test", "")),
    ]
}

fn indices() -> Vec<Case> {
    let section = "7541 2.3.3";
    let entry = literal(ADD, "x-test", &"x".repeat(100));
    let crowded = [
        &*entry,
        &literal(ADD, "x-big", &"x".repeat(4_000)),
        &indexed(NEWEST + 1),
    ];
    let huge = [
        &*entry,
        &literal(ADD, "x-big", &"x".repeat(5_000)),
        &indexed(NEWEST),
    ];
    vec![
        case(
            "7541 6.1",
            "index 0 ends the connection",
            with(&indexed(0)),
            DECODING,
        ),
        case(
            section,
            "an index beyond the table ends the connection",
            with(&indexed(70)),
            DECODING,
        ),
        case(
            section,
            "the index of a name beyond the table ends the connection",
            with(&[integer(ADD, 6, 70), text(b"")].concat()),
            DECODING,
        ),
        case(
            section,
            "an index far beyond the table ends the connection",
            with(&indexed(1 << 30)),
            DECODING,
        ),
        case(
            "7541 4.4",
            "an entry that was evicted is unknown",
            with(&crowded.concat()),
            DECODING,
        ),
        case(
            "7541 4.4",
            "an entry larger than the table empties it",
            with(&huge.concat()),
            DECODING,
        ),
        case(
            "7541 4.4",
            "an entry larger than the table is no error",
            with(&huge[..2].concat()),
            Expected::Answer(1),
        ),
    ]
}

fn numbers() -> Vec<Case> {
    let section = "7541 5.1";
    let ends = |what: &str, more: &[u8]| {
        case(
            section,
            format!("{what} ends the connection"),
            with(more),
            DECODING,
        )
    };
    let endless = [&[0xff][..], &[0xff; 12], &[0x01]].concat();
    vec![
        ends("an index that overflows", &endless),
        ends(
            "a length that overflows",
            &[&[0, 0x7f][..], &[0xff; 12], &[0x01]].concat(),
        ),
        ends(
            "a size that overflows",
            &[&[0x3f][..], &[0xff; 12], &[0x01]].concat(),
        ),
        ends("an index that breaks off", &[0xff, 0x80]),
        ends("a length that breaks off", &[0, 0x7f, 0x80]),
        ends("a literal that breaks off after its name", &[0, 1, b'x']),
        ends("a string longer than its block", &[0, 1, b'x', 100, b'x']),
    ]
}
