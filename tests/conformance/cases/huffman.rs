//! Strings in Huffman code.

use affinity_tests::http2::{code, integer};

use crate::conformance::case::{Case, Expected, Script, case};

use super::hpack::with;

/// As RFC 7541, C.4.3 writes them.
const NAME: &[u8] = b"\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f";
const VALUE: &[u8] = b"\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf";

/// A string that is said to be in Huffman code.
fn coded(octets: &[u8]) -> Vec<u8> {
    [&*integer(0x80, 7, octets.len()), octets].concat()
}

/// A request with the field `custom-key` of that value.
fn value(octets: &[u8]) -> Script {
    with(&[vec![0], coded(NAME), coded(octets)].concat())
}

pub(super) fn cases() -> Vec<Case> {
    let section = "7541 5.2";
    let taken = |what: &str, before: &[u8]| {
        let script = with(&[before, &coded(VALUE)].concat());
        let fact = format!("a literal in Huffman code that {what}");
        case(section, fact, script, Expected::Answer(1))
    };
    let named = |first| [&[first], &*coded(NAME)].concat();
    let ends = |what: &str, octets: &[u8]| {
        let fact = format!("a string in Huffman code {what} ends the connection");
        let decoding = Expected::ConnectionError(&[code::COMPRESSION_ERROR]);
        case(section, fact, value(octets), decoding)
    };
    vec![
        taken("is added, of a known name", &integer(0x40, 6, 58)),
        taken("is added, of a new name", &named(0x40)),
        taken("is not added, of a known name", &integer(0, 4, 58)),
        taken("is not added, of a new name", &named(0)),
        taken("is never added, of a known name", &integer(0x10, 4, 58)),
        taken("is never added, of a new name", &named(0x10)),
        // "a" is 00011, and "www.example.com" ends in the middle of its last octet
        ends("padded by more than 7 bits", b"\x1f\xff"),
        ends("padded by zeros", b"\x18"),
        ends(
            "padded by zeros after many letters",
            b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\x80",
        ),
        ends("with the symbol of the end", b"\x1f\xff\xff\xff\xff"),
        ends("of nothing but padding", b"\xff"),
    ]
}
