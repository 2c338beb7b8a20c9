//! The harness itself: what it injects arrives, and what goes wrong is seen.

use std::time::Duration;

use affinity_tests::joined::Joined;
use affinity_tests::load::{Ask, Load, Outcome, Shots};
use affinity_tests::pod::{Line, Pod};
use affinity_tests::proxy::{End, Fault, How, Proxy, Way};
use affinity_tests::{Scratch, until};
use tokio::time::sleep;

const GROUP: &str = "9f1c2ab";

/// A pod behind a proxy, asked without a gateway.
async fn behind() -> (Scratch, Pod, Proxy, Load) {
    let dir = Scratch::new();
    let pod = Pod::start(&dir, GROUP, "only").await;
    let proxy = Proxy::to(pod.address()).await;
    // one session, HTTP/1.1
    let load = Load::begin(proxy.address(), 1).await;
    (dir, pod, proxy, load)
}

async fn ask(load: &Load, ask: &Ask) -> Outcome {
    load.round(1, ask).await;
    load.shots()
        .iter()
        .last()
        .expect("it was asked")
        .outcome
        .clone()
}

/// The only pod knows of no gateway, so nobody named a group.
fn join(shots: &Shots, lines: Vec<Line>) -> Joined {
    let named = lines.into_iter().map(|mut line| {
        line.wanted = Some(line.group.clone());
        line
    });
    Joined::of(shots, &named.collect::<Vec<_>>())
}

#[tokio::test]
async fn a_killed_pod_has_lost_nothing_of_its_ledger() {
    let (_dir, mut pod, _proxy, load) = behind().await;
    let held = tokio::spawn({
        let load = load.clone();
        async move { load.round(1, &Ask::post("/hold", 10)).await }
    });
    let done = |line: &Line| line.done && line.path == "/hold";
    until("the request at the pod", async || {
        pod.ledger().iter().any(done).then_some(())
    })
    .await;
    pod.kill().await;
    held.await.expect("a round does not panic");
    let shots = load.shots();
    let last = shots.iter().last().expect("it was asked");
    assert!(matches!(last.outcome, Outcome::Broken(_)), "{last:?}");
    assert!(
        pod.ledger()
            .iter()
            .any(|line| line.request == Some(last.id) && line.done)
    );
}

#[tokio::test]
async fn a_proxy_does_what_it_is_told() {
    let (_dir, pod, proxy, load) = behind().await;
    let big = Ask::get("/bytes/50000");
    let piecemeal = Fault {
        piece: Some(1),
        ..Fault::none()
    };
    proxy.inject(piecemeal);
    let bytes = ask(&load, &Ask::get("/bytes/300")).await;
    assert!(
        matches!(bytes, Outcome::Answered { whole: true, .. }),
        "byte by byte: {bytes:?}"
    );
    proxy.inject(Fault {
        bandwidth: Some(100_000),
        ..Fault::none()
    });
    ask(&load, &big).await;
    let took = load.shots().iter().last().expect("it was asked").took;
    assert!(
        took > Duration::from_millis(400),
        "50 kB at 100 kB/s took {took:?}"
    );
    for how in [How::Close, How::Reset, How::HalfClose] {
        proxy.inject(Fault::cut(1000..40_000, 7, how));
        let cut = ask(&load, &big).await;
        assert!(matches!(cut, Outcome::Truncated(_)), "{how:?}: {cut:?}");
        proxy.inject(Fault::none());
        let well = ask(&load, &big).await;
        assert!(
            matches!(well, Outcome::Answered { whole: true, .. }),
            "{how:?}: {well:?}"
        );
    }
    proxy.inject(Fault::reset_idle());
    let reset = ask(&load, &big).await;
    assert!(matches!(reset, Outcome::Broken(_)), "{reset:?}");
    proxy.inject(Fault {
        end: Some(End {
            way: Way::Up,
            after: 200..400,
            seed: 7,
            how: How::Close,
        }),
        ..Fault::none()
    });
    let cut = ask(&load, &Ask::post("/step", 5000)).await;
    assert!(matches!(cut, Outcome::Broken(_)), "{cut:?}");
    let lines = pod.ledger();
    let last = load.shots().iter().last().expect("it was asked").id;
    let of_last: Vec<_> = lines
        .iter()
        .filter(|line| line.request == Some(last))
        .collect();
    assert!(
        of_last.iter().all(|line| !line.done),
        "half a body was executed: {of_last:?}"
    );
    join(&load.shots(), lines).is_sound();
}

#[tokio::test]
async fn a_silent_proxy_passes_nothing_on() {
    let (_dir, pod, proxy, load) = behind().await;
    proxy.inject(Fault::silent());
    let before = pod.ledger().len();
    let asked = tokio::spawn(async move { load.round(1, &Ask::get("/step")).await });
    sleep(Duration::from_millis(300)).await;
    assert!(!asked.is_finished(), "it was answered");
    assert_eq!(pod.ledger().len(), before, "it was passed on");
    asked.abort();
}

#[tokio::test]
async fn joined_ledgers_show_what_went_wrong() {
    let (_dir, pod, _proxy, load) = behind().await;
    load.round(1, &Ask::post("/step", 10)).await;
    let shots = load.shots();
    let lines = pod.ledger();
    join(&shots, lines.clone()).is_sound();
    let id = shots.iter().last().expect("it was asked").id;

    let again = lines
        .iter()
        .filter(|line| line.request == Some(id))
        .cloned();
    let doubled: Vec<_> = lines.iter().cloned().chain(again.clone()).collect();
    let doubled = join(&shots, doubled);
    assert_eq!((doubled.doubled, doubled.retried), (vec![id], 1));

    let elsewhere = again.map(|mut line| {
        line.group = "another".to_owned();
        line
    });
    let crossed: Vec<_> = lines.iter().cloned().chain(elsewhere).collect();
    let crossed = Joined::of(&shots, &crossed);
    assert_eq!(crossed.crossed, [id]);
    assert!(crossed.misplaced.contains(&id), "the gateway named nobody");

    let kept = lines
        .into_iter()
        .filter(|line| line.request != Some(id) || !line.done);
    assert_eq!(join(&shots, kept.collect()).lost, [id]);
}
