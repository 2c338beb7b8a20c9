//! F12, F26 and F44: more than the pods can do.
//!
//! Pods have a fixed number of workers, each with a fixed time for a request, and a line for the
//! rest. The gateway may give each as many as work there and as many again, so that none is ever
//! idle and no line is long.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use affinity_tests::load::{Ask, Load, Outcome, Shot, Shots};
use affinity_tests::{BOUND, until_within};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::scale::Scale;
use crate::stage::{Between, EACH, NEW, OLD, Stage, UPSTREAM, mixed};

/// How long a worker takes for a request.
const WORK: Duration = Duration::from_millis(60);

/// Stage and capacity of one group, in requests a second, with that many workers in each pod in the
/// short form.
async fn limited(workers: u32, weights: [u16; 2]) -> (Stage, f64) {
    let workers = workers * Scale::of_environment().unit();
    let stage = Stage::configured(Between::Nothing, |config| {
        config.sections = format!("{UPSTREAM}max_in_flight = {}\n", 2 * workers)
            // what waits in a line for longer has failed
            .replace("20s", "1500ms");
        for (name, weight) in [OLD, NEW].into_iter().zip(weights) {
            let group = config.group(name);
            group.weight = weight;
            let most = 2 * workers as usize * EACH;
            group.more = format!("max_in_flight = {most}\nreserve_percent = 25\n");
        }
    })
    .await;
    let capacity = f64::from(workers) * EACH as f64 / WORK.as_secs_f64();
    (stage, capacity)
}

/// Gives the pods of these places their workers.
async fn work(stage: &mut Stage, workers: u32, pods: std::ops::Range<usize>) {
    let order = format!(
        "workers {} {}",
        workers * stage.scale.unit(),
        WORK.as_millis()
    );
    for pod in &mut stage.pods[pods] {
        pod.order(&order).await;
    }
}

/// A refusal that asks to come back, and leaves the pin as it is.
fn is_shed(shot: &Shot) -> bool {
    matches!(&shot.outcome, Outcome::Answered { status, retry_after: Some(1..=3), set_cookie: false, group: None, .. }
        if *status == 503)
}

fn all_else_is_shed(shots: &Shots) {
    let other = shots.failures().find(|shot| !is_shed(shot));
    assert!(other.is_none(), "what is too much is told so: {other:?}");
}

/// The share that was answered well.
fn goodput(shots: &Shots) -> f64 {
    1.0 - shots.failures().count() as f64 / shots.len() as f64
}

/// How many were answered well in each second.
fn per_second(shots: &Shots, span: Duration) -> f64 {
    (shots.len() - shots.failures().count()) as f64 / span.as_secs_f64()
}

/// The sessions that a group has answered well.
fn sessions(shots: &Shots, group: &str) -> BTreeSet<usize> {
    let of_group = shots.iter().filter(|shot| shot.group() == Some(group));
    of_group.map(|shot| shot.session).collect()
}

/// Those that were sent with a pin to the old group.
fn pinned(shots: &Shots) -> Shots {
    let mut since: BTreeMap<usize, Instant> = BTreeMap::new();
    for shot in shots.iter().filter(|shot| shot.group() == Some(OLD)) {
        since.entry(shot.session).or_insert(shot.sent + shot.took);
    }
    shots.only(|shot| {
        let since = since.get(&shot.session);
        since.is_some_and(|since| shot.sent > *since)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f26_an_overloaded_target_of_an_abort_keeps_its_sessions() {
    // two thirds of what comes is of the aborted group
    let (mut stage, capacity) = limited(2, [1, 2]).await;
    // so many that one more hardly counts
    let many = if stage.scale.is_full() { 4 } else { 10 };
    let load = Load::begin(stage.address(), many * stage.scale.sessions).await;
    work(&mut stage, 2, 0..EACH).await;
    let running = load.open((2.0 * capacity) as u32, &mixed());
    sleep(stage.scale.phase(1.0)).await;
    let aborted = Instant::now();
    let told = stage.admin().verb(NEW, "abort", &json!({})).await;
    told.accepted();
    sleep(stage.scale.phase(3.0)).await;
    let settled = Instant::now();
    sleep(stage.scale.phase(5.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F26", &shots);
    let after = shots.sent(settled..settled + stage.scale.phase(5.0));
    let total = per_second(&after, stage.scale.phase(5.0));
    let kept = goodput(&pinned(&shots).sent(settled..Instant::now()));
    let new = after.len() - pinned(&shots).sent(settled..Instant::now()).len();
    println!(
        "F26: capacity {capacity:.0}/s, goodput {total:.1}/s, of pinned ones {:.1} %, {new} of others, \
         {} attempts a request",
        kept * 100.0,
        joined.attempts_per_request()
    );
    assert!(
        after.failures().count() as f64 > 0.3 * after.len() as f64,
        "the target was hardly overloaded: {:?}",
        after.faults()
    );
    all_else_is_shed(&after);
    assert!(
        kept >= stage.scale.least(0.95),
        "of the sessions of the target {:.1} % were served",
        kept * 100.0
    );
    assert!(
        total >= stage.scale.least(0.9) * capacity,
        "{total:.1} a second of {capacity:.1} that the pods can do"
    );
    assert!(
        joined.moves.values().all(|moves| *moves == 1),
        "moved twice: {:?}",
        joined.moves
    );
    let late = shots.sent(aborted + Duration::from_millis(100)..Instant::now());
    let there = late.iter().find(|shot| shot.group() == Some(NEW));
    assert!(there.is_none(), "served by the aborted group: {there:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f44_an_overload_ends_when_the_load_does() {
    let (mut stage, each) = limited(1, [1, 1]).await;
    let capacity = 2.0 * each;
    let load = stage.sessions().await;
    work(&mut stage, 1, 0..2 * EACH).await;
    let normal = (0.5 * capacity) as u32;
    let running = load.open(normal, &mixed());
    sleep(stage.scale.phase(2.0)).await;
    let before = running.stop().await;

    let since = Instant::now();
    let running = load.open((3.0 * capacity) as u32, &mixed());
    sleep(stage.scale.phase(5.0) * if stage.scale.is_full() { 2 } else { 1 }).await;
    let over = Instant::now();
    drop(running.stop().await);

    let running = load.open(normal, &mixed());
    // ten seconds are allowed
    sleep(stage.scale.phase(1.0)).await;
    let healed = Instant::now();
    sleep(stage.scale.phase(2.0)).await;
    let shots = running.stop().await;

    until_within(BOUND, "no request in flight", async || {
        let open = stage.sum("affinity_requests_in_flight", &[]).await;
        (open == 0.0).then_some(())
    })
    .await;
    let joined = stage.join("F44", &shots);
    let during = shots.sent(since..over);
    let total = per_second(&during, over - since);
    let after = shots.sent(healed..Instant::now());
    let (was, is) = (goodput(&before), goodput(&after));
    println!(
        "F44: capacity {capacity:.0}/s, goodput {total:.1}/s of {:.0}/s, before {:.1} %, after {:.1} %, \
         {:.3} attempts a request, p99 {:.1?} before, {:.1?} after",
        during.len() as f64 / (over - since).as_secs_f64(),
        was * 100.0,
        is * 100.0,
        joined.attempts_per_request(),
        before.quantile(0.99),
        after.quantile(0.99),
    );
    assert!(
        during.failures().count() > during.len() / 2,
        "hardly an overload: {:?}",
        during.faults()
    );
    all_else_is_shed(&during);
    assert!(
        total >= stage.scale.least(0.9) * capacity,
        "{total:.1} a second of {capacity:.1} that the pods can do"
    );
    assert!(
        is >= 0.95 * was,
        "{:.1} % were served before, {:.1} % afterwards",
        was * 100.0,
        is * 100.0
    );
    assert!(
        joined.attempts_per_request() <= 1.2,
        "{:.3} attempts a request",
        joined.attempts_per_request()
    );
    assert_eq!(joined.moved(), 0, "an overload moved {:?}", joined.moves);
    let (before, after) = (before.quantile(0.99), after.quantile(0.99));
    assert!(
        after <= stage.scale.tolerated(before),
        "p99 was {before:?} and is {after:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f12_moves_out_of_a_lost_group_are_paced_by_the_limit_of_the_target() {
    let (mut stage, capacity) = limited(2, [1, 1]).await;
    let load = Load::begin(stage.address(), 2 * stage.scale.sessions).await;
    work(&mut stage, 2, 0..2 * EACH).await;
    let running = load.open((0.8 * capacity) as u32, &mixed());
    let begun = Instant::now();
    sleep(stage.scale.phase(2.0)).await;
    let killed = Instant::now();
    for at in stage.new_group() {
        stage.pods[at].kill().await;
    }
    let before = load.shots().sent(begun..killed);
    let lost = sessions(&before, NEW);
    assert!(lost.len() > 10, "hardly a session in the group");
    stage.until_ready(NEW, 0).await;
    sleep(Duration::from_secs(10)).await;
    // all that waited for the group come in one moment, beside what goes on
    let herd = Instant::now();
    load.round(2 * stage.scale.sessions, &Ask::get("/step"))
        .await;
    let rest = Duration::from_secs(30).saturating_sub(killed.elapsed());
    until_within(rest, "the move of all sessions within 30 s", async || {
        let served = sessions(&load.shots().sent(killed..Instant::now()), OLD);
        lost.is_subset(&served).then_some(())
    })
    .await;
    let (took, moved) = (killed.elapsed(), Instant::now());
    sleep(stage.scale.phase(1.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F12, a herd", &shots);
    let after = shots.sent(herd..Instant::now());
    let served = after.only(|shot| shot.group() == Some(OLD));
    let before = before.only(|shot| shot.group() == Some(OLD));
    let late = shots.sent(moved..Instant::now());
    println!(
        "F12: {} refused, all moved after {took:.1?}, p99 {:.1?} before, {:.1?} after",
        after.failures().count(),
        before.quantile(0.99),
        served.quantile(0.99),
    );
    assert!(
        after.failures().count() > 10,
        "the limit was hardly met: {:?}",
        after.faults()
    );
    all_else_is_shed(&after);
    assert_eq!(late.faults(), Default::default(), "errors after all moved");
    let moved: BTreeSet<_> = joined.moves.keys().copied().collect();
    assert_eq!(moved, lost, "who moved, and whose group was lost");
    assert!(
        joined.moves.values().all(|moves| *moves == 1),
        "moved twice: {:?}",
        joined.moves
    );
    let (before, after) = (before.quantile(0.99), served.quantile(0.99));
    assert!(
        after <= stage.scale.tolerated(before),
        "p99 was {before:?} and is {after:?}"
    );
}
