//! What pins cost with each algorithm, and what is spared for a service behind a gateway.
//!
//! `cargo bench -p tower-affinity --bench keys` prints medians of rounds as the bench `pinned` does.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::disallowed_methods, clippy::print_stdout)] // it measures and prints

#[allow(dead_code)]
#[path = "../pinned/fixture.rs"]
mod fixture;
#[path = "../pinned/rounds.rs"]
mod rounds;

use fixture::{Instant, SERVICE, call};
use http::Request;
use tower_affinity::core::{
    Clock, GroupId, IdSecret, Key, Keyring, Lifetimes, PinCodec, Revision, SessionId, SessionPin,
    Timestamp,
};
use tower_affinity::{Affinity, FromGatewayLayer, SystemClock, Trust};
use tower_layer::Layer;

use rounds::{Subject, measure, row, time};

const SESSION: u128 = 42;

fn main() {
    let now = SystemClock::new().now();
    let (hmac, remembering) = (hs256(), ed25519());
    let forgetful = ed25519().remember(0);
    let pin = pin(now);
    let (hs, ed) = (hmac.seal(&pin).token, remembering.seal(&pin).token);
    let open = |codec: &PinCodec, token: &str| {
        codec
            .open(token.as_bytes(), now, Lifetimes::default())
            .unwrap()
    };
    assert_eq!(
        open(&hmac, &hs).pin.session,
        open(&remembering, &ed).pin.session
    );
    let mut told = FromGatewayLayer::new(Trust::Everyone).layer(Instant);
    let known = call(&mut told, request());
    assert_eq!(
        known.extensions().get::<Affinity>().unwrap().group(),
        "9f1c2ab"
    );

    let tokens = |token: &'_ str, count| vec![token.to_owned(); count];
    let subject = |name, run| Subject { name, run };
    let series = measure(vec![
        subject(
            "a  HS256, opened",
            Box::new(|count| time(tokens(&hs, count), |token| open(&hmac, &token))),
        ),
        subject(
            "b  Ed25519, opened, not remembered",
            Box::new(|count| time(tokens(&ed, count), |token| open(&forgetful, &token))),
        ),
        subject(
            "c  Ed25519, opened, remembered",
            Box::new(|count| time(tokens(&ed, count), |token| open(&remembering, &token))),
        ),
        subject(
            "d  HS256, sealed",
            Box::new(|count| time(vec![&pin; count], |pin| hmac.seal(pin))),
        ),
        subject(
            "e  Ed25519, sealed",
            Box::new(|count| time(vec![&pin; count], |pin| remembering.seal(pin))),
        ),
        subject(
            "f  request with a gateway's headers, with FromGatewayLayer",
            Box::new(|count| time(requests(count), |request| call(&mut told, request))),
        ),
        subject(
            "g  the same request, without the layer",
            Box::new(|count| time(requests(count), |request| call(&mut Instant, request))),
        ),
    ]);
    let mut text = format!(
        "{:<60} {:>9}   middle 80 % of rounds\n",
        "ns for one", "median"
    );
    for one in series {
        row(&mut text, one.name, one.nanos, 0);
    }
    println!("{text}");
}

fn secret(seed: u8) -> [u8; 32] {
    std::array::from_fn(|nth| seed.wrapping_mul(31) ^ nth as u8)
}

fn hs256() -> PinCodec {
    let key = Key::hs256("2026-11".parse().unwrap(), &secret(1)).unwrap();
    PinCodec::new(SERVICE.parse().unwrap(), &Keyring::new([key]).unwrap())
}

fn ed25519() -> PinCodec {
    let key = Key::ed25519("2026-12".parse().unwrap(), &secret(2)).unwrap();
    let ids = IdSecret::new(&secret(3)).unwrap();
    let ring = Keyring::with_id_secret([key], ids).unwrap();
    PinCodec::new(SERVICE.parse().unwrap(), &ring)
}

fn pin(now: Timestamp) -> SessionPin {
    let group = GroupId::new("9f1c2ab".parse().unwrap(), 1);
    let session = SessionId::from_random(SESSION);
    SessionPin::new(
        session,
        group,
        Revision(now.as_secs()),
        now,
        Lifetimes::default(),
    )
}

fn requests(count: usize) -> Vec<Request<()>> {
    (0..count).map(|_| request()).collect()
}

/// What a gateway sends of a pinned session.
fn request() -> Request<()> {
    let request = fixture::request(None);
    let (mut parts, ()) = request.into_parts();
    for (name, value) in [
        ("affinity-group", "9f1c2ab".to_owned()),
        (
            "affinity-session",
            SessionId::from_random(SESSION).to_string(),
        ),
        ("affinity-decision", "pinned; cause=ok".to_owned()),
    ] {
        parts.headers.insert(name, value.parse().unwrap());
    }
    Request::from_parts(parts, ())
}
