//! What a stranger can read in a token: nothing about groups and addresses.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::forge::{ours, payload};
use crate::fixtures::{at, id, lifetimes, session};
use crate::{Revision, SessionPin};

const ROUNDS: u32 = 10_000;

/// Every way in which a name could be written into a token that somebody would still read.
fn spellings(name: &str) -> Vec<String> {
    let reversed: String = name.chars().rev().collect();
    let hex: String = name.bytes().map(|b| format!("{b:02x}")).collect();
    let mut spellings = vec![name.to_owned(), reversed, hex.to_uppercase(), hex];
    // base64 of a text inside of a longer one: it begins at any of three places of a symbol
    for shift in 0..3 {
        let padded = format!("{}{name}", "\0".repeat(shift));
        for encoded in [
            STANDARD_NO_PAD.encode(&padded),
            URL_SAFE_NO_PAD.encode(&padded),
        ] {
            let skip = if shift == 0 { 0 } else { shift + 1 };
            spellings.push(encoded[skip..encoded.len() - 1].to_owned());
        }
    }
    spellings
}

#[test]
fn sec_01_a_pin_tells_no_name_and_its_opaque_parts_vary_in_every_byte() {
    let ours = ours();
    let mut sessions: Vec<HashSet<u8>> = vec![HashSet::new(); 16];
    let mut codes: Vec<HashSet<u8>> = vec![HashSet::new(); 10];
    for n in 0..ROUNDS {
        let hash: [u8; 32] = Sha256::digest(n.to_be_bytes()).into();
        let (head, _) = hash.split_at(16);
        let bits = u128::from_be_bytes(head.try_into().unwrap());
        let group = format!("commit-{n:05}-canary");
        let pin = SessionPin::new(
            session(bits),
            id(&group, 1),
            Revision(7),
            at(0),
            lifetimes(),
        );
        let token = ours.seal(&pin).token;
        let claims = payload(&token);
        let text = format!("{token} {claims}");
        // the spellings of one in a hundred names are enough: nothing of a name is written anywhere
        if n % 100 == 0 {
            for spelling in spellings(&group).iter().chain(&spellings("-canary")) {
                assert!(!text.contains(spelling), "{spelling} of {group} in {text}");
            }
        }
        assert!(!text.contains(&group), "{group} in {text}");
        for (claim, seen) in [("sid", &mut sessions), ("grp", &mut codes)] {
            let bytes = URL_SAFE_NO_PAD
                .decode(claims[claim].as_str().unwrap())
                .unwrap();
            assert_eq!(bytes.len(), seen.len(), "{claim}");
            for (byte, seen) in bytes.into_iter().zip(seen) {
                seen.insert(byte);
            }
        }
    }
    for (claim, positions) in [("sid", sessions), ("grp", codes)] {
        for (n, values) in positions.iter().enumerate() {
            // of 256 values, 10,000 uniform draws miss one with a chance of e^-39
            assert_eq!(values.len(), 256, "byte {n} of {claim}");
        }
    }
}

#[test]
fn sec_01_equal_groups_of_different_generations_share_nothing() {
    let code = |generation| {
        let pin = SessionPin::new(
            session(1),
            id("A", generation),
            Revision(7),
            at(0),
            lifetimes(),
        );
        payload(&ours().seal(&pin).token)["grp"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let codes: HashSet<String> = (1..500).map(code).collect();
    assert_eq!(codes.len(), 499);
}
