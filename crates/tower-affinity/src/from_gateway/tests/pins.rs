//! Gateways whose address alone is not believed.

use std::time::Duration;

use tower_affinity_core::{
    Clock, GroupId, IdSecret, Key, Keyring, Lifetimes, PinCodec, Revision, SessionId, SessionPin,
    Timestamp,
};
use tower_affinity_testing::{START, name};

use super::support::{SESSION, assert_nobody, pinned, request, send};
use crate::{FromGatewayLayer, Trust, VerifyingKeyring};

struct At(u64);

impl Clock for At {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(START + self.0)
    }
}

fn secret(seed: u8) -> [u8; 32] {
    std::array::from_fn(|nth| seed.wrapping_mul(31) ^ nth as u8)
}

/// A gateway of that service.
fn gateway(service: &str, seed: u8) -> PinCodec {
    let key = Key::ed25519("k1".parse().unwrap(), &secret(seed)).unwrap();
    let ids = IdSecret::new(&secret(200)).unwrap();
    let ring = Keyring::with_id_secret([key], ids).unwrap();
    PinCodec::new(service.parse().unwrap(), &ring)
}

fn pin(session: u128) -> SessionPin {
    let (id, now) = (
        GroupId::new(name("9f1c2ab"), 3),
        Timestamp::from_secs(START),
    );
    let session = SessionId::from_random(session);
    SessionPin::new(session, id, Revision(7), now, Lifetimes::default())
}

/// A service that holds the public half only.
fn layer(after: Duration) -> FromGatewayLayer {
    let key = Key::ed25519("k1".parse().unwrap(), &secret(1)).unwrap();
    let public = Key::ed25519_public("k1".parse().unwrap(), &key.public().unwrap()).unwrap();
    let ring = VerifyingKeyring::from(Keyring::verifying([public]).unwrap());
    FromGatewayLayer::new(Trust::Everyone)
        .verifier(ring.verifier("checkout".parse().unwrap()))
        .clock(At(after.as_secs()))
}

fn with(token: &str) -> Vec<(&'static str, &str)> {
    let mut headers: Vec<(&'static str, &str)> = pinned();
    headers.push(("affinity-pin", token));
    headers
}

#[tokio::test]
async fn a_session_with_its_pin_is_believed_and_the_pin_is_read() {
    let token = gateway("checkout", 1).seal(&pin(42)).token;
    let layer = layer(Duration::from_secs(60));
    for _ in 0..2 {
        let seen = send(layer.clone(), request(None, &with(&token))).await;
        let affinity = seen.affinity.expect("not believed");
        assert_eq!(
            affinity.group(),
            "9f1c2ab",
            "told in words, hidden in the pin"
        );
        let read = affinity.decision().pin.as_ref().unwrap();
        assert_eq!(
            (read.revision, read.expires),
            (Revision(7), pin(42).expires)
        );
        assert_eq!(read.group.label(), "9f1c2ab");
        assert!(seen.propagates, "for calls further down");
    }
}

#[tokio::test]
async fn sec_06_a_pin_for_another_audience_is_no_proof() {
    let token = gateway("payment", 1).seal(&pin(42)).token;
    let seen = send(layer(Duration::ZERO), request(None, &with(&token))).await;
    assert_nobody(&seen, "pin", "another audience");
}

#[tokio::test]
async fn a_pin_that_is_not_good_or_not_the_sessions_is_no_proof() {
    let good = gateway("checkout", 1).seal(&pin(42)).token;
    let strange = gateway("checkout", 2).seal(&pin(42)).token;
    let other = gateway("checkout", 1).seal(&pin(43)).token;
    let day = Duration::from_secs(86_400);
    for (row, token, after) in [
        ("another key", &*strange, Duration::ZERO),
        ("another session", &*other, Duration::ZERO),
        ("expired", &*good, day),
        ("cut", good.get(..200).unwrap(), Duration::ZERO),
        ("empty", "", Duration::ZERO),
    ] {
        let seen = send(layer(after), request(None, &with(token))).await;
        assert_nobody(&seen, "pin", row);
    }
    let seen = send(layer(Duration::ZERO), request(None, &pinned())).await;
    assert_nobody(&seen, "pin", "a session without a pin");
}

#[tokio::test]
async fn sec_14_a_pin_by_hmac_with_the_public_key_is_no_proof() {
    let key = Key::ed25519("k1".parse().unwrap(), &secret(1)).unwrap();
    let public = key.public().unwrap();
    let forger = Keyring::new([Key::hs256("k1".parse().unwrap(), &public).unwrap()]).unwrap();
    let forged = PinCodec::new("checkout".parse().unwrap(), &forger);
    let token = forged.seal(&pin(42)).token;
    let seen = send(layer(Duration::ZERO), request(None, &with(&token))).await;
    assert_nobody(&seen, "pin", "algorithm confusion");
}

#[tokio::test]
async fn what_names_no_session_needs_no_pin_and_can_have_none() {
    let bypassed = [
        ("affinity-group", "9f1c2ab"),
        ("affinity-decision", "bypassed; cause=none"),
    ];
    let seen = send(layer(Duration::ZERO), request(None, &bypassed)).await;
    assert_eq!(seen.affinity.expect("not believed").session(), None);
    let token = gateway("checkout", 1).seal(&pin(42)).token;
    let mut with_pin = bypassed.to_vec();
    with_pin.push(("affinity-pin", &token));
    let seen = send(layer(Duration::ZERO), request(None, &with_pin)).await;
    assert_nobody(&seen, "pin", "a pin of nobody");
    assert_eq!(SESSION.len(), 22);
}
