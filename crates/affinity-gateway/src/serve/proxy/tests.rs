//! Headers that are right, wrong, cut and random.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::io;

use proptest::prelude::*;
use proxy_protocol_rs::HeaderBuilder;
use tokio_test::io::Builder;

use super::*;

const CLIENT: &str = "203.0.113.7:4711";

/// Headers, and the client that each of them names.
fn right() -> Vec<(Vec<u8>, Option<&'static str>)> {
    let long = HeaderBuilder::v2_proxy(CLIENT.parse().unwrap(), "192.0.2.1:443".parse().unwrap())
        .with_raw_tlv(0xE0, vec![7; 1_000])
        .build();
    vec![
        (
            b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n".to_vec(),
            Some(CLIENT),
        ),
        (
            b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n".to_vec(),
            Some("[2001:db8::7]:4711"),
        ),
        (b"PROXY UNKNOWN\r\n".to_vec(), None),
        (b"PROXY UNKNOWN 1 2 3 4\r\n".to_vec(), None),
        (version_2(0x21, 0x11, &IPV4), Some(CLIENT)),
        (version_2(0x21, 0x00, &[]), None),
        (version_2(0x20, 0x00, &[]), None),
        (version_2(0x20, 0x11, &IPV4), None),
        (version_2(0x21, 0x31, &[b'/'; 216]), None),
        (long, Some(CLIENT)),
    ]
}

const IPV4: [u8; 12] = [203, 0, 113, 7, 192, 0, 2, 1, 0x12, 0x67, 0x01, 0xbb];

fn version_2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([command, family]);
    bytes.extend(u16::try_from(rest.len()).unwrap().to_be_bytes());
    bytes.extend(rest);
    bytes
}

/// What is read of a stream that comes in two pieces and then ends.
fn read_pieces(one: &[u8], other: &[u8]) -> Result<(Option<SocketAddr>, Vec<u8>), String> {
    let mut stream = AsyncReadExt::chain(one, other);
    tokio_test::block_on(async {
        let read = read(&mut stream).await.map_err(|error| error.to_string())?;
        let mut rest = read.1.to_vec();
        stream.read_to_end(&mut rest).await.unwrap();
        Ok((read.0, rest))
    })
}

#[test]
fn a_header_names_its_client_wherever_it_is_split() {
    for (header, client) in right() {
        let client = client.map(|client| client.parse().unwrap());
        let whole = [header.as_slice(), b"GET / HTTP/1.1\r\n"].concat();
        for at in 0..whole.len() {
            let (one, other) = whole.split_at(at);
            assert_eq!(
                read_pieces(one, other),
                Ok((client, b"GET / HTTP/1.1\r\n".to_vec())),
                "split at {at}: {:?}",
                String::from_utf8_lossy(&header)
            );
        }
    }
}

#[test]
fn a_header_that_breaks_off_is_told_from_silence() {
    assert_eq!(read_pieces(b"", b"").unwrap_err(), "the proxy sent nothing");
    for (header, _) in right() {
        for length in 1..header.len() {
            assert_eq!(
                read_pieces(&header[..length], b"").unwrap_err(),
                "the header breaks off",
                "{length} bytes of {:?}",
                String::from_utf8_lossy(&header)
            );
        }
    }
}

#[test]
fn what_is_no_header_is_refused() {
    let too_long = format!("PROXY TCP4 {}", "1".repeat(200));
    for wrong in [
        b"GET / HTTP/1.1\r\n".as_slice(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"PROXY TCP4 203.0.113.7 192.0.2.1 4711\r\n",
        b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 70000\r\n",
        b"PROXY TCP4 2001:db8::7 192.0.2.1 4711 443\r\n",
        b"PROXY UDP4 203.0.113.7 192.0.2.1 4711 443\r\n",
        too_long.as_bytes(),
        &version_2(0x31, 0x11, &IPV4),
        &version_2(0x22, 0x11, &IPV4),
        &version_2(0x21, 0x11, &IPV4[..11]),
        &version_2(0x21, 0x41, &IPV4),
    ] {
        let refused = read_pieces(wrong, b"");
        assert!(
            refused.is_err(),
            "{:?}: {refused:?}",
            String::from_utf8_lossy(wrong)
        );
    }
}

#[test]
fn a_header_that_is_too_long_is_refused_before_it_came() {
    let announced = version_2(0x21, 0x11, &[0; 4_081]);
    let refused = read_pieces(&announced[..16], b"").unwrap_err();
    assert!(refused.contains("4097"), "{refused}");
}

#[test]
fn a_failed_read_is_no_header() {
    let mut stream = Builder::new()
        .read(b"PROXY")
        .read_error(io::ErrorKind::ConnectionReset.into())
        .build();
    let failed = tokio_test::block_on(read(&mut stream)).unwrap_err();
    assert!(matches!(failed, HeaderError::Read(_)), "{failed}");
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    let begun = (0..right().len()).prop_map(|at| right()[at].0.clone());
    let mutated =
        (begun, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut header, at, byte)| {
            let at = at.index(header.len());
            header[at] = byte;
            header
        });
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..600),
        mutated.clone(),
        (mutated, prop::collection::vec(any::<u8>(), 0..600)).prop_map(|(a, b)| [a, b].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn pieces_are_read_as_the_whole_is(
        bytes in anything(),
        at in any::<prop::sample::Index>(),
    ) {
        let (one, other) = bytes.split_at(at.index(bytes.len() + 1));
        let (whole, split) = (read_pieces(&bytes, b""), read_pieces(one, other));
        prop_assert_eq!(whole.is_ok(), split.is_ok(), "{:?} or {:?}", whole, split);
        if let (Ok(whole), Ok(split)) = (whole, split) {
            prop_assert_eq!(whole, split);
        }
    }
}
