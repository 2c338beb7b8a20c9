//! What all of a gateway's layers and its balancer add to a request, however many endpoints, groups
//! and live sessions there are.
//!
//! `cargo bench -p tower-affinity --bench gateway` prints medians and, from the same rounds, the
//! differences and ratios that the goal is stated in. `-- c 10000` makes that many calls of subject c
//! and nothing else, for a profiler.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::disallowed_methods, clippy::print_stdout)] // it measures and prints

#[path = "../pinned/fixture.rs"]
#[allow(dead_code, reason = "another benchmark uses more of it")]
mod fixture;
#[path = "../pinned/rounds.rs"]
mod rounds;
mod sizes;
#[path = "../instructions/gateway.rs"]
#[allow(dead_code, reason = "another benchmark uses more of it")]
mod stack;

use http::HeaderValue;

use fixture::cookies;
use rounds::{Series, Subject, measure, row, time};
use sizes::{Gateway, gateway, serve, token};
use stack::{Pod, asked};

/// How many sessions the last subject has seen before.
const SESSIONS: u32 = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [subject, calls, ..] if !subject.starts_with('-') => run(subject, calls.parse().unwrap()),
        _ => compare(),
    }
}

/// A gateway and the cookies of a session that it has.
fn pinned_at(groups: u32, endpoints: u32) -> (Gateway, HeaderValue) {
    let mut gateway = gateway(groups, endpoints);
    let cookies = cookies(&token(&mut gateway));
    let pinned = serve(&mut gateway, asked(Some(&cookies)));
    let affinity: Option<&tower_affinity::Affinity> = pinned.extensions.get();
    let kind = affinity.unwrap().decision().kind;
    assert_eq!(kind, tower_affinity::core::Kind::Pinned);
    (gateway, cookies)
}

/// The same after `sessions` others have returned their pins.
fn crowded(sessions: u32) -> (Gateway, HeaderValue) {
    let (mut gateway, mine) = pinned_at(2, 3);
    for _ in 0..sessions {
        let other = cookies(&token(&mut gateway));
        serve(&mut gateway, asked(Some(&other)));
    }
    (gateway, mine)
}

fn run(subject: &str, calls: u32) {
    let (mut gateway, cookies) = match subject {
        "a" | "b" | "e" => pinned_at(2, 3),
        "c" => pinned_at(50, 200),
        "d" => crowded(SESSIONS),
        _ => panic!("subjects are a to e"),
    };
    for _ in 0..calls {
        match subject {
            "a" => serve(&mut Pod, asked(Some(&cookies))),
            "e" => serve(&mut gateway, asked(None)),
            _ => serve(&mut gateway, asked(Some(&cookies))),
        };
    }
}

fn compare() {
    let (mut few, cookies_few) = pinned_at(2, 3);
    let (mut many, cookies_many) = pinned_at(50, 200);
    let (mut crowded, cookies_crowded) = crowded(SESSIONS);
    let mut fresh = few.clone();
    let requests = |cookies: &HeaderValue, count| -> Vec<_> {
        (0..count).map(|_| asked(Some(cookies))).collect()
    };

    let subject = |name, run| Subject { name, run };
    let series = measure(vec![
        subject(
            "a  the endpoint's service alone",
            Box::new(|count| {
                time(requests(&cookies_few, count), |request| {
                    serve(&mut Pod, request)
                })
            }),
        ),
        subject(
            "b  pinned request, 2 groups of 3 endpoints",
            Box::new(|count| {
                time(requests(&cookies_few, count), |request| {
                    serve(&mut few, request)
                })
            }),
        ),
        subject(
            "c  pinned request, 50 groups of 200 endpoints",
            Box::new(|count| {
                time(requests(&cookies_many, count), |request| {
                    serve(&mut many, request)
                })
            }),
        ),
        subject(
            "d  as b, after 1,000,000 sessions",
            Box::new(|count| {
                time(requests(&cookies_crowded, count), |request| {
                    serve(&mut crowded, request)
                })
            }),
        ),
        subject(
            "e  new session, 2 groups of 3 endpoints",
            Box::new(|count| {
                time((0..count).map(|_| asked(None)).collect(), |request| {
                    serve(&mut fresh, request)
                })
            }),
        ),
    ]);
    println!("{}", report(&series));
}

fn report(series: &[Series]) -> String {
    let mut text = format!(
        "{:<48} {:>9}   middle 80 % of rounds\n",
        "ns for one", "median"
    );
    for one in series {
        row(&mut text, one.name, one.nanos.clone(), 0);
    }
    let [a, b, c, d, e] = series else {
        panic!("five subjects")
    };
    let within = |of: &dyn Fn(usize) -> f64| (0..a.nanos.len()).map(of).collect::<Vec<_>>();
    let added = |one: &Series, round: usize| one.nanos[round] - a.nanos[round];
    text.push_str("\nwithin one round\n");
    row(
        &mut text,
        "b - a  what the gateway adds (goal 1,000)",
        within(&|round| added(b, round)),
        0,
    );
    row(
        &mut text,
        "e - a  what it adds to a new session",
        within(&|round| added(e, round)),
        0,
    );
    row(
        &mut text,
        "c / b  10,000 endpoints in 50 groups (goal 1.2)",
        within(&|round| added(c, round) / added(b, round)),
        2,
    );
    row(
        &mut text,
        "d / b  1,000,000 sessions (goal 1.05)",
        within(&|round| added(d, round) / added(b, round)),
        2,
    );
    text
}
