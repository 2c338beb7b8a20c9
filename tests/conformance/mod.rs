//! What RFC 9113 and RFC 7541 ask of a server, case by case, of our listener and of plain axum.
//!
//! Both speak HTTP/2 through the same library, so what both get wrong is the library's; what only
//! ours gets wrong is ours, and fails the run.

mod came;
mod case;
mod cases;
mod exchange;
mod requests;
mod targets;
mod weaknesses;

use std::collections::BTreeSet;

use affinity_tests::http2::Connection;
use futures_util::future::join_all;

use self::came::Came;
use self::case::Case;
use self::targets::{Gateway, Plain};

/// Runs all cases at once; what came instead, for each that fails.
async fn failures(cases: &[Case], open: impl AsyncFn() -> Connection) -> Vec<Option<Came>> {
    let runs = cases.iter();
    let runs = runs.map(async |case| exchange::run(case, open().await).await.err());
    join_all(runs).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_listener_conforms_wherever_plain_axum_does() {
    let cases = cases::all();
    let facts: BTreeSet<_> = cases.iter().map(|case| &*case.fact).collect();
    assert_eq!(facts.len(), cases.len(), "two cases have one name");
    let axum = Plain::start().await;
    let (gateway, over_tls) = (Gateway::start().await, Gateway::start_tls().await);
    let (theirs, ours, tls) = tokio::join!(
        failures(&cases, async || axum.open().await),
        failures(&cases, async || gateway.open().await),
        failures(&cases, async || over_tls.open().await),
    );
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for (at, case) in cases.iter().enumerate() {
        if let (Some(came), Some(_)) = (&ours[at], &theirs[at]) {
            known.insert(format!("| {case} | {} |", came.short()));
        }
        if let (None, Some(came)) = (&ours[at], &theirs[at]) {
            println!("better than plain axum: {case}; there came: {came}");
        }
        for (ours, listener) in [(&ours[at], "plain"), (&tls[at], "TLS")] {
            if let (Some(came), None) = (ours, &theirs[at]) {
                wrong.push(format!("{listener}: {case}; came: {came}"));
            }
        }
    }
    println!("{} cases; in all places fail {}:", cases.len(), known.len());
    known.iter().for_each(|row| println!("{row}"));
    assert!(wrong.is_empty(), "plain axum passes:\n{}", wrong.join("\n"));
    let listed = weaknesses::listed();
    let new: Vec<_> = known.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&known).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "docs/testing.md lacks {new:#?}, and has no reason to list {gone:#?}"
    );
    for (gateway, came) in [(&gateway, &ours), (&over_tls, &tls)] {
        let served = gateway.served();
        let malformed = served.iter().filter(|path| *path == requests::MALFORMED);
        let answered = cases.iter().zip(came).filter(|(case, came)| {
            case.is_malformed() && came.as_ref().is_some_and(Came::is_an_answer)
        });
        assert!(
            malformed.count() <= answered.count(),
            "what was refused has reached an endpoint all the same: {served:?}"
        );
        assert!(served.iter().any(|path| path == "/"), "nothing was served");
    }
}
