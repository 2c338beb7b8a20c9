//! F22: one gateway is 60 seconds behind while its clients change gateways with every request. 0
//! backward moves and at most one move for a client that keeps its newest pin; with a real jar 0
//! answers of the aborted group at a gateway that knows, and 0 reversed edges in order of decision.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::history::History;
use affinity_tests::jar::Keeps;
use affinity_tests::{LOAD_BOUND, until_within};
use http::Request;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{BAD, Cluster, Moves, OTHER, STABLE};

/// What the story leaves behind.
struct Told {
    moves: Moves,
    /// The gateway that was behind, and since when the others knew.
    behind: SocketAddr,
    known: u64,
}

/// Changes gateways with every request, sends some requests to two of them at once, and takes the
/// answers in any order; some were long on their way.
async fn wander(mut client: Client, to: [SocketAddr; 2], number: u64, stop: Arc<AtomicBool>) {
    let step = || {
        Request::get("/step")
            .body(Default::default())
            .expect("a path")
    };
    let mut tab = client.tab();
    let mut first_pin: Option<String> = None;
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(line) = first_pin.as_ref().filter(|_| turn % 4 == number % 4) {
            client.jar.take(line);
            client.send(to[1], step()).await;
        }
        for at in to {
            let answer = client.send(at, step()).await;
            first_pin = first_pin.or_else(|| answer.cookies().pop());
        }
        tab.jar = client.jar.clone();
        let (here, there) =
            tokio::join!(client.exchange(to[0], step()), tab.exchange(to[1], step()));
        let mut answers = [here.expect("an answer"), there.expect("an answer")];
        answers.sort_by_key(|answer| answer.request % 3);
        for line in answers.iter().flat_map(|answer| answer.cookies()) {
            client.jar.take(&line);
        }
    }
}

async fn abort_while_one_is_behind(keeps: Keeps) -> Option<Told> {
    let cluster = Cluster::start(&[(STABLE, 30), (BAD, 50), (OTHER, 20)]).await?;
    let history = History::default();
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    let (knows, behind) = (&cluster.members[0], &cluster.members[1]);
    for number in 0..40 {
        let client = Client::keeping(keeps, number, &history);
        let to = [knows.address(), behind.address()];
        clients.spawn(wander(client, to, number, Arc::clone(&stop)));
    }
    let more = async |count: usize| {
        let goal = history.len() + count;
        until_within(LOAD_BOUND, "more answers", async || {
            (history.len() >= goal).then_some(())
        })
        .await;
    };
    more(1_000).await;
    behind.link.lag().await;
    knows
        .admin()
        .verb(BAD, "abort", &json!({}))
        .await
        .accepted();
    let known = history.moment();
    // a minute, in which everything goes on
    for _ in 0..60 {
        cluster.advance(Duration::from_secs(1));
        more(40).await;
    }
    assert_eq!(behind.state(BAD), "active", "nobody told it yet");
    behind.link.catch_up();
    cluster.all_have(BAD, "aborted").await;
    let all_know = history.moment();
    more(500).await;
    stop.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.expect("a client finishes");
    }
    let moves = Moves::of(&history, cluster.fleet.ledger());
    moves.assert_nobody_in(BAD, knows.address(), known);
    moves.assert_nobody_in(BAD, behind.address(), all_know);
    let behind = behind.address();
    Some(Told {
        moves,
        behind,
        known,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newest_pin_moves_once_and_never_back_while_a_gateway_is_a_minute_behind() {
    let Some(told) = abort_while_one_is_behind(Keeps::NewestPin).await else {
        return;
    };
    let moved = told.moves.assert_at_most(1);
    assert!(moved >= 5, "only {moved} sessions moved");
    told.moves.assert_no_reversed_edge();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jar_in_which_the_last_answer_wins_is_never_led_back_while_a_gateway_is_behind() {
    let Some(told) = abort_while_one_is_behind(Keeps::LastArrival).await else {
        return;
    };
    let back = told.moves.answers_of(BAD, told.behind, told.known);
    assert!(
        back > 0,
        "no old pin came back to the gateway that was behind"
    );
    told.moves.assert_no_reversed_edge();
}
