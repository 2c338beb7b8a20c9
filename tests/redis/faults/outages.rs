//! F35: a Redis that refuses, is silent, slow, read-only, full, or holds something else.

use std::time::Duration;

use affinity_tests::proxy::Fault;
use tokio::time::{Instant, sleep};

use super::measured::{Record, moves};
use super::stage::Stage;
use crate::support::RedisServer;

/// By when a store that is well again has to be used.
const BACK: Duration = Duration::from_secs(3);

/// Runs one fault and checks what holds for each: nobody sees it.
#[expect(clippy::print_stdout, reason = "a run tells what it measured")]
async fn run(
    name: &str,
    proxied: bool,
    begin: impl AsyncFnOnce(&mut Stage),
    end: impl AsyncFnOnce(&mut Stage),
) {
    let Some(mut stage) = Stage::start(proxied).await else {
        return;
    };
    let scale = stage.scale;
    let asking = stage.sessions().await.ask();
    sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    let steady = Record::of(&stage, scale.phase(2.0)).await;
    assert_eq!(steady.last_down(), None, "the store was well");
    let fault = Instant::now();
    begin(&mut stage).await;
    let open = stage.until_down().await;
    sleep(scale.phase(3.0)).await;
    let over = Instant::now();
    end(&mut stage).await;
    let ended = Instant::now();
    let back = Record::of(&stage, BACK + Duration::from_secs(1)).await;
    let answers = asking.stop().await;

    let p99 = |when| answers.quantile(0.99, &when);
    let p50 = |when| answers.quantile(0.5, &when);
    let (before, opening, after) = (p99(began..fault), p99(fault..open), p99(open..over));
    let medians = [p50(began..fault), p50(open..over)];
    let recovery = back.last_down().map_or(Duration::ZERO, |last| last - ended);
    let moved = [moves(&answers.cookies), moves(&answers.ids)];
    println!(
        "F35 {name}: {} requests, not well {:?}, moves {moved:?}; p99 {before:.1?} before, \
         {opening:.1?} within the {:.0?} until the store was left alone, {after:.1?} afterwards \
         (p50 {:.1?}, {:.1?}); back after {recovery:.0?}; commands a second {:.0}, at most {:.0} \
         when it was back",
        answers.len(),
        answers.faults(),
        open - fault,
        medians[0],
        medians[1],
        steady.rate(),
        back.peak(),
    );
    assert_eq!(answers.faults(), Default::default(), "somebody saw it");
    assert_eq!(moved, [0, 0], "sessions with cookies and with ids");
    stage.nobody_was_misplaced();
    // other tests share the machine with the short form
    let [late, left] = match scale.is_full() {
        true => [25, 1],
        false => [250, 250],
    };
    let (late, left) = (Duration::from_millis(late), Duration::from_millis(left));
    assert!(opening <= before + late, "{opening:?} after {before:?}");
    // half of it is the scatter of a p99 between two phases; the median has none
    assert!(after <= before * 3 / 2 + left, "{after:?} after {before:?}");
    assert!(medians[1] <= medians[0] + left, "{medians:?}");
    assert!(recovery <= BACK, "used again after {recovery:?}");
    assert!(stage.is_up().await, "it is well");
    let (peak, rate) = (back.peak(), steady.rate());
    assert!(peak <= rate * 1.5, "{peak} commands a second after {rate}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f35_a_store_that_refuses_connections_is_noticed_by_nobody() {
    let begin = async |stage: &mut Stage| stage.server.stop();
    let end = async |stage: &mut Stage| stage.server.restart().await;
    run("refused", false, begin, end).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f35_a_store_that_is_silent_is_noticed_by_nobody() {
    let begin = async |stage: &mut Stage| stage.proxy.inject(Fault::silent());
    run("silent", true, begin, heal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f35_a_store_that_is_slow_is_noticed_by_nobody() {
    let slow = Fault::delay(Duration::from_millis(500));
    let begin = async |stage: &mut Stage| stage.proxy.inject(slow);
    run("slow", true, begin, heal).await;
}

async fn heal(stage: &mut Stage) {
    stage.proxy.inject(Fault::none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f35_a_store_that_takes_no_writes_is_noticed_by_nobody() {
    let begin = async |stage: &mut Stage| ok(&stage.server, &["REPLICAOF", "127.0.0.1", "1"]).await;
    let end = async |stage: &mut Stage| ok(&stage.server, &["REPLICAOF", "NO", "ONE"]).await;
    run("read-only", true, begin, end).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f35_a_store_that_is_full_is_noticed_by_nobody() {
    let begin = async |stage: &mut Stage| {
        ok(&stage.server, &["CONFIG", "SET", "maxmemory", "1mb"]).await;
    };
    let end = async |stage: &mut Stage| {
        ok(&stage.server, &["CONFIG", "SET", "maxmemory", "0"]).await;
    };
    run("full", true, begin, end).await;
}

async fn ok(server: &RedisServer, words: &[&str]) {
    assert_eq!(server.say(words).await, "+OK\r\n", "{words:?}");
}

/// Every key of ours becomes a list or a text of somebody else, and nobody takes that back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f35_keys_that_others_wrote_over_are_noticed_by_nobody_and_become_ours_again() {
    let Some(stage) = Stage::start(true).await else {
        return;
    };
    let asking = stage.sessions().await.ask();
    sleep(stage.scale.phase(1.0)).await;
    let keys = stage.server.say(&["KEYS", "{affinity:*"]).await;
    let keys: Vec<_> = keys.lines().filter(|line| line.starts_with('{')).collect();
    for (at, key) in keys.iter().enumerate() {
        stage.server.say(&["DEL", key]).await;
        match at % 2 {
            0 => stage.server.say(&["SET", key, "garbage"]).await,
            _ => stage.server.say(&["LPUSH", key, "garbage"]).await,
        };
    }
    let over = Instant::now();
    let back = Record::of(&stage, BACK + Duration::from_secs(1)).await;
    let mut counted = [stage.rows().await, 0.0];
    sleep(Duration::from_secs(2)).await;
    counted[1] = stage.rows().await;
    let answers = asking.stop().await;
    let moved = [moves(&answers.cookies), moves(&answers.ids)];
    let recovery = back.last_down().map_or(Duration::ZERO, |last| last - over);
    println!(
        "F35 written over: {} keys, {} requests, not well {:?}, moves {moved:?}; back after \
         {recovery:.0?}; rows then, and two seconds later {counted:?}",
        keys.len(),
        answers.len(),
        answers.faults(),
    );
    assert_eq!(answers.faults(), Default::default(), "somebody saw it");
    assert_eq!(moved, [0, 0], "sessions with cookies and with ids");
    stage.nobody_was_misplaced();
    assert!(recovery <= BACK, "used again after {recovery:?}");
    assert!(stage.is_up().await, "it is well");
    assert!(
        counted[1] > counted[0],
        "newcomers are not counted: {counted:?}"
    );
}
