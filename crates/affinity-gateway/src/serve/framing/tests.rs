//! What is a request, what is none, and that the pieces in which bytes come change neither.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod ahead;
mod pieces;

use std::time::Duration;

use proptest::prelude::*;

use super::fault::Fault;
use super::head::Heads;
use super::watch::{Seen, Watch};

const LIMITS: Heads = Heads {
    within: Duration::from_secs(10),
    bytes: 1_024,
    fields: 8,
    http2: true,
};

/// What a watch says about bytes that come at once.
fn seen(bytes: &str) -> Seen {
    Watch::new(LIMITS).see(bytes.as_bytes())
}

/// The fault of a request with these fields.
fn fault(fields: &str) -> Option<Fault> {
    let text = format!("POST / HTTP/1.1\r\nhost: a\r\n{fields}\r\n\r\n");
    match seen(&text) {
        Seen::Bad(0, fault) => Some(fault),
        Seen::Good(_) | Seen::Wait(_) => None,
        other => panic!("{fields:?}: {other:?}"),
    }
}

#[test]
fn every_second_way_to_tell_a_body_is_refused() {
    for (fields, expected) in [
        (
            "content-length: 5\r\ntransfer-encoding: chunked",
            Fault::Length,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
            Fault::Length,
        ),
        ("content-length: 5\r\ncontent-length: 5", Fault::Length),
        ("content-length: 5\r\ncontent-length: 6", Fault::Length),
        ("content-length: 5, 5", Fault::Length),
        ("content-length: +5", Fault::Length),
        ("content-length: -5", Fault::Length),
        ("content-length: 0x5", Fault::Length),
        ("content-length:", Fault::Length),
        ("content-length: 18446744073709551616", Fault::Length),
        (
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
            Fault::Coding,
        ),
        (
            "transfer-encoding: chunked\r\ntransfer-encoding: identity",
            Fault::Coding,
        ),
        ("transfer-encoding: identity", Fault::UnknownCoding),
        ("transfer-encoding: gzip, chunked", Fault::UnknownCoding),
        ("transfer-encoding: chunked, chunked", Fault::UnknownCoding),
        ("transfer-encoding: \"chunked\"", Fault::UnknownCoding),
        ("transfer-encoding: chunked;x", Fault::UnknownCoding),
        ("transfer-encoding: xchunked", Fault::UnknownCoding),
        ("transfer-encoding:", Fault::UnknownCoding),
        ("transfer-encoding:\u{b}chunked", Fault::Malformed),
        ("transfer-encoding : chunked", Fault::Malformed),
        (" transfer-encoding: chunked", Fault::Malformed),
        ("x: y\r\n transfer-encoding: chunked", Fault::Malformed),
        ("x: y\rtransfer-encoding: chunked", Fault::Malformed),
        ("x: \0", Fault::Malformed),
        ("x: y\ntransfer-encoding: chunked", Fault::BareLf),
        (
            "a: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\ne: 1\r\nf: 1\r\ng: 1\r\nh: 1",
            Fault::TooLarge,
        ),
    ] {
        assert_eq!(fault(fields), Some(expected), "{fields:?}");
    }
    for fields in [
        "content-length: 5",
        "content-length: 005",
        "transfer-encoding: Chunked",
        "x:",
    ] {
        assert_eq!(fault(fields), None, "{fields:?}");
    }
    let old = "POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(seen(old), Seen::Bad(0, Fault::Coding));
    assert_eq!(
        seen("GET / HTTP/1.1\nhost: a\n\n"),
        Seen::Bad(0, Fault::BareLf)
    );
    assert_eq!(
        seen("\x16\x03\x01\x02\0\x01"),
        Seen::Bad(0, Fault::Malformed)
    );
}

proptest! {
    #[test]
    fn each_line_of_a_head_ends_in_cr_lf(
        ends in proptest::collection::vec(prop_oneof![4 => Just("\r\n"), 1 => Just("\n")], 2..9),
        empty_values in any::<bool>(),
    ) {
        let value = if empty_values { "" } else { " y " };
        let mut text = "GET / HTTP/1.1".to_owned();
        for (at, end) in ends.iter().enumerate() {
            text.push_str(end);
            if at + 2 < ends.len() {
                text.push_str("x:");
                text.push_str(value);
            }
        }
        let expected = match ends.contains(&"\n") {
            true => Seen::Bad(0, Fault::BareLf),
            false => Seen::Good(text.len()),
        };
        prop_assert_eq!(seen(&text), expected, "{:?}", text);
    }
}

#[test]
fn a_head_is_bounded_before_its_end_has_come() {
    let endless = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(LIMITS.bytes));
    assert_eq!(seen(&endless), Seen::Bad(0, Fault::TooLarge));
    let lines = format!("GET /{} HTTP/1.1\r\n\r\n", "y".repeat(LIMITS.bytes));
    assert_eq!(seen(&lines), Seen::Bad(0, Fault::TooLarge));
}

/// Each byte of them would have all of them read again.
#[test]
fn empty_lines_before_a_head_are_not_collected() {
    assert_eq!(seen("\n"), Seen::Bad(0, Fault::BareLf));
    assert_eq!(seen("\r\n\n"), Seen::Bad(0, Fault::BareLf));
    assert_eq!(seen("\r\n\r\n"), Seen::Bad(0, Fault::Malformed));
    assert_eq!(seen("\r\n"), Seen::Good(0));
    let request = "\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n";
    assert_eq!(seen(request), Seen::Good(request.len()));
}

#[test]
fn a_part_of_a_head_is_kept_until_its_end_comes() {
    let mut watch = Watch::new(LIMITS);
    assert_eq!(watch.see(b"GET / HTTP/1.1\r\nhost: a\r\n"), Seen::Good(0));
    let whole = b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET /";
    assert_eq!(watch.see(whole), Seen::Good(whole.len() - 5));
    assert_eq!(watch.heads(), 1);
}

#[test]
fn the_request_behind_a_body_is_read_where_the_body_ends() {
    let ambiguous = "GET / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n";
    for body in [
        "content-length: 3\r\n\r\nabc",
        "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n0003;x=y\r\nabc\r\n0\r\nt: 1\r\n\r\n",
    ] {
        let first = format!("POST / HTTP/1.1\r\n{body}");
        let seen = seen(&format!("{first}{ambiguous}"));
        assert_eq!(seen, Seen::Bad(first.len(), Fault::Length), "{body:?}");
    }
}

#[test]
fn broken_chunks_end_what_can_be_read() {
    for chunks in [
        "x\r\n",
        "\r\n",
        ";\r\n",
        "-1\r\n",
        "+2\r\n",
        "0x2\r\n",
        " 2\r\n",
        "2 \r\n",
        "2\nok",
        "2\rok",
        "2\r\nokay",
        "2\r\nok\n",
        "00000000000000002\r\n",
        "ffffffffffffffffff\r\n",
        "2;a\nb\r\n",
        "0\r\nt: \n",
        "0\r\n\n",
        "0\r\n\r\r",
    ] {
        let text = format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{chunks}");
        assert!(
            matches!(seen(&text), Seen::Broken(_)),
            "{chunks:?}: {:?}",
            seen(&text)
        );
    }
    let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    for endless in [
        format!("2;{}", "x".repeat(300)),
        format!("0\r\n{}", "t: 1\r\n".repeat(300)),
    ] {
        assert!(matches!(seen(&format!("{head}{endless}")), Seen::Broken(_)));
    }
}

#[test]
fn nothing_behind_an_upgrade_is_read_before_its_answer() {
    let ask = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    let next = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    let mut watch = Watch::new(LIMITS);
    assert_eq!(
        watch.see(format!("{ask}{next}").as_bytes()),
        Seen::Wait(ask.len())
    );
    assert!(watch.is_waiting());
    assert_eq!(watch.see(next.as_bytes()), Seen::Wait(0));
    watch.answered();
    assert_eq!(watch.see(next.as_bytes()), Seen::Good(next.len()));

    let mut watch = Watch::new(LIMITS);
    watch.see(ask.as_bytes());
    watch.pass_through();
    assert_eq!(watch.see(b"\0\x01\x02"), Seen::Good(3));
}

#[test]
fn http_2_passes_as_it_is() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04";
    let mut watch = Watch::new(LIMITS);
    for end in 1..24 {
        assert_eq!(watch.see(&preface[..end]), Seen::Good(0), "{end} bytes");
    }
    assert_eq!(watch.see(preface), Seen::Good(preface.len()));
    assert!(watch.is_through());
    // only a connection begins with it
    let mut watch = Watch::new(LIMITS);
    watch.see(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(watch.see(preface), Seen::Bad(0, Fault::Malformed));
}
