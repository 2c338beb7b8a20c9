//! What the layer adds to a request, next to the cryptography that it cannot do without.
//!
//! `cargo bench -p tower-affinity --bench pinned` prints medians and, from the same rounds, the
//! ratios that the goal is stated in.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::disallowed_methods, clippy::print_stdout)] // it measures and prints

use std::time::Duration;

mod baseline;
mod fixture;
mod handed_on;
mod rounds;

use baseline::{RawMac, Verify};
use fixture::{
    Instant, asked, call, cookies, processes, request, rollouts, rollouts_to, token, with_layer,
};
use handed_on::{carried, propagating};
use tower_affinity::core::{AbortRequest, AlwaysReady, Change, Clock, Revision};
use tower_affinity::{PropagateLayer, Rollouts, SystemClock};
use tower_layer::Layer;

use rounds::{Series, Subject, measure, row, time};

fn main() {
    let rollouts = rollouts();
    let mut pinned = with_layer(rollouts.clone());
    let mut fresh = pinned.clone();
    let mut moving = with_layer(aborted(&rollouts));
    let token = token(&mut pinned);
    let cookies = cookies(&token);
    let requests = |count| (0..count).map(|_| request(Some(&cookies))).collect();
    let bare = |count| (0..count).map(|_| request(None)).collect();
    let (verify, mac) = (Verify::new(), RawMac::new());
    let signed = token.rsplit_once('.').unwrap().0.as_bytes();
    let (mut serving, mut forwarding) = processes();
    let mut taking = forwarding.clone();
    let asking = |count| (0..count).map(|_| asked(&cookies)).collect();
    let of_peer = cookies_of_peer();
    let for_peer = |count| (0..count).map(|_| asked(&of_peer)).collect();
    let mut handing_on = propagating();
    let session = carried(&mut handing_on, &cookies);
    let mut client = PropagateLayer::new().layer(Instant);
    check(&mut pinned, &mut moving, &verify, &cookies, &token);

    let subject = |name, run| Subject { name, run };
    let series = measure(vec![
        subject(
            "a  pinned request, with the layer",
            Box::new(|count| time(requests(count), |request| call(&mut pinned, request))),
        ),
        subject(
            "b  pinned request, without the layer",
            Box::new(|count| time(requests(count), |request| call(&mut Instant, request))),
        ),
        subject(
            "c  one verification by jsonwebtoken",
            Box::new(|count| time(vec![&*token; count], |token| verify.verify(token))),
        ),
        subject(
            "d  one HMAC-SHA256 of the same length",
            Box::new(|count| time(vec![signed; count], |signed| mac.sign(signed))),
        ),
        subject(
            "e  new session, with the layer",
            Box::new(|count| time(bare(count), |request| call(&mut fresh, request))),
        ),
        subject(
            "f  moved session, with the layer",
            Box::new(|count| time(requests(count), |request| call(&mut moving, request))),
        ),
        subject(
            "g  pinned request, in a process of its group",
            Box::new(|count| time(asking(count), |request| call(&mut serving, request))),
        ),
        subject(
            "h  the same with peers to forward to",
            Box::new(|count| time(asking(count), |request| call(&mut forwarding, request))),
        ),
        subject(
            "i  a request of another commit, forwarded",
            Box::new(|count| time(for_peer(count), |request| call(&mut taking, request))),
        ),
        subject(
            "j  pinned request, in a scope that propagates",
            Box::new(|count| time(requests(count), |request| call(&mut handing_on, request))),
        ),
        subject(
            "k  a call of another service, with the session",
            Box::new(|count| {
                time(bare(count), |mut request| {
                    request.extensions_mut().insert(session.clone());
                    call(&mut client, request)
                })
            }),
        ),
    ]);
    println!("{}", report(&series));
}

/// The rollout of `rollouts` after `c3d4e5f` was aborted.
fn aborted(rollouts: &Rollouts) -> Rollouts {
    let rollout = rollouts.current();
    let change = Change {
        revision: Revision(rollout.revision().0 + 1),
        now: SystemClock::new().now(),
        max_age: Duration::from_secs(4 * 3600),
    };
    let bad = "c3d4e5f".parse().unwrap();
    let next = rollout.abort(&bad, &AbortRequest::default(), &AlwaysReady, change);
    next.unwrap().into()
}

/// The cookies of a session that a peer serves.
fn cookies_of_peer() -> http::HeaderValue {
    let mut there = with_layer(rollouts_to("9f1c2ab"));
    cookies(&token(&mut there))
}

/// Each subject does what its name says.
fn check(
    pinned: &mut fixture::Layered,
    moving: &mut fixture::Layered,
    verify: &Verify,
    cookies: &http::HeaderValue,
    token: &str,
) {
    let kind = |response: http::Response<bytes::Bytes>| {
        let affinity = response.extensions().get::<tower_affinity::Affinity>();
        affinity.unwrap().decision().kind
    };
    let of = |service: &mut _| kind(call(service, request(Some(cookies))));
    assert_eq!(of(pinned), tower_affinity::core::Kind::Pinned);
    assert_eq!(of(moving), tower_affinity::core::Kind::Moved);
    let new = kind(call(pinned, request(None)));
    assert_eq!(new, tower_affinity::core::Kind::Assigned);
    let claims = verify.verify(token);
    assert_eq!((&*claims.aud, claims.mv), (fixture::SERVICE, 0));
    assert_eq!((claims.sid.len(), claims.grp.len()), (22, 14));
    assert_eq!((claims.iat, claims.arv), (claims.sst, claims.rev));
    assert!(claims.exp > claims.iat);
}

fn report(series: &[Series]) -> String {
    let mut text = format!(
        "{:<44} {:>9}   middle 80 % of rounds\n",
        "ns for one", "median"
    );
    for one in series {
        row(&mut text, one.name, one.nanos.clone(), 0);
    }
    let [a, b, c, d, e, f, g, h, i, j, k] = series else {
        panic!("eleven subjects")
    };
    let ratio = |over: &Series, under: &Series, unit: &Series| -> Vec<f64> {
        let rounds = over.nanos.iter().zip(&under.nanos).zip(&unit.nanos);
        rounds
            .map(|((over, under), unit)| (over - under) / unit)
            .collect()
    };
    text.push_str("\nratio within one round\n");
    row(
        &mut text,
        "(a - b) / c  what the layer adds (goal 1.5)",
        ratio(a, b, c),
        2,
    );
    row(&mut text, "(a - b) / d", ratio(a, b, d), 2);
    row(&mut text, "(e - b) / c  a new session", ratio(e, b, c), 2);
    row(&mut text, "(f - b) / c  a moved session", ratio(f, b, c), 2);
    let added = |with: &Series, without: &Series| {
        let pairs = with.nanos.iter().zip(&without.nanos);
        pairs.map(|(with, without)| with - without).collect()
    };
    text.push_str("\nns more within one round\n");
    row(
        &mut text,
        "h - g  peers, for a local request (goal 1,000)",
        added(h, g),
        0,
    );
    row(&mut text, "i - g  forwarding it instead", added(i, g), 0);
    row(&mut text, "j - a  a scope that propagates", added(j, a), 0);
    row(
        &mut text,
        "k - b  taking the session along on a call",
        added(k, b),
        0,
    );
    text
}
