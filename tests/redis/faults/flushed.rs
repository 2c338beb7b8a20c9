//! F37: everything is deleted at the peak.

use std::time::Duration;

use affinity_tests::until;
use tokio::time::sleep;

use super::measured::{Record, moves};
use super::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f37_a_store_that_was_emptied_is_filled_again_without_a_herd() {
    let Some(stage) = Stage::start(true).await else {
        return;
    };
    let scale = stage.scale;
    let asking = stage.sessions().await.ask();
    sleep(Duration::from_millis(500)).await;
    let steady = Record::of(&stage, scale.phase(2.0)).await;
    assert_eq!(stage.server.say(&["FLUSHALL"]).await, "+OK\r\n");
    let after = Record::of(&stage, scale.phase(3.0)).await;
    // every session that lasts, and who came meanwhile
    let lasting = 2 * scale.sessions;
    let rows = until("the rows are back", async || {
        let rows = stage.rows().await as usize;
        (rows > lasting).then_some(rows)
    })
    .await;
    let answers = asking.stop().await;

    let moved = [moves(&answers.cookies), moves(&answers.ids)];
    println!(
        "F37: {} requests, not well {:?}, moves {moved:?}; commands a second {:.0}, at most {:.0} \
         afterwards; {rows} rows are back",
        answers.len(),
        answers.faults(),
        steady.rate(),
        after.peak(),
    );
    assert_eq!(answers.faults(), Default::default(), "somebody saw it");
    assert_eq!(moved, [0, 0], "sessions with cookies and with ids");
    stage.nobody_was_misplaced();
    assert_eq!(after.last_down(), None, "the store was well");
    let (peak, rate) = (after.peak(), steady.rate());
    assert!(peak <= rate * 1.5, "{peak} commands a second after {rate}");
}
