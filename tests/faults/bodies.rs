//! F08: bodies that break off.

use affinity_tests::load::{Ask, Outcome};
use affinity_tests::proxy::{Fault, How};
use http::Method;
use tokio::time::sleep;

use crate::stage::{Between, Stage};

/// Larger than every buffer on the way, so that heads are there before the cut.
const LENGTH: usize = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f08_a_body_that_is_cut_never_looks_complete() {
    let stage = Stage::new(Between::Proxies).await;
    let load = stage.sessions().await;
    let asks = [
        Ask::get(&format!("/bytes/{LENGTH}")),
        Ask::get(&format!("/chunks/{LENGTH}")),
        Ask::post(&format!("/bytes/{LENGTH}"), 600),
    ];
    let running = load.open(stage.scale.rate / 4, &asks);
    let ways = [How::Close, How::Reset, How::HalfClose];
    for (seed, how) in (0..).zip(ways) {
        for proxy in &stage.proxies {
            proxy.inject(Fault::cut(500..3 * LENGTH as u64, seed, how));
        }
        sleep(stage.scale.phase(1.0)).await;
    }
    for proxy in &stage.proxies {
        proxy.inject(Fault::none());
    }
    let shots = running.stop().await;

    let joined = stage.join("F08", &shots);
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    let cut = shots.only(|shot| matches!(shot.outcome, Outcome::Truncated(_)));
    assert!(
        cut.len() > 10,
        "the fault was hardly met: {:?}",
        shots.faults()
    );
    let again: Vec<_> = stage
        .lines()
        .into_iter()
        .filter(|line| line.done)
        .filter_map(|line| line.request)
        .collect();
    // a kept connection can end within a later head: then a GET is sent again before its answer has
    // begun, and cut that time. A head is far less than a hundredth of what is sent
    let mut twice = 0;
    for shot in cut.iter() {
        let executed = again.iter().filter(|id| **id == shot.id).count();
        assert!(executed > 0, "cut, and executed nowhere: {shot:?}");
        assert!(
            executed == 1 || shot.method == Method::GET,
            "sent again: {shot:?}"
        );
        twice += executed - 1;
    }
    assert!(
        twice * 100 <= cut.len(),
        "{twice} of {} were sent again after their answers had begun",
        cut.len()
    );
    let unseen = shots.failures().find(|shot| {
        let told = match &shot.outcome {
            Outcome::Truncated(_) => true,
            // on HTTP/2 the reset that tells of the cut can overtake the head
            Outcome::Broken(how) => how.contains("Reset") && how.contains("INTERNAL_ERROR"),
            _ => shot.status().is_some_and(|status| status == 502),
        };
        !told
    });
    assert!(
        unseen.is_none(),
        "neither a broken answer nor a 502: {unseen:?}"
    );
}
