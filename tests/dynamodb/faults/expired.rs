//! Rows that have ended and were not deleted, through the layer.

use std::collections::BTreeSet;

use crate::site::{QUARTER, Site};
use crate::support::items;

const USERS: usize = 60;

#[tokio::test]
async fn f38_no_row_that_has_ended_is_used_although_nothing_deletes_it() {
    let Some(site) = Site::start([100, 0]).await else {
        return;
    };
    let users: Vec<String> = (0..USERS).map(|nth| format!("user-{nth}")).collect();
    for user in &users {
        assert_eq!(site.group_of(user).await, "A");
    }
    let sessions = async || -> BTreeSet<String> {
        let items = items(site.server.address()).await;
        assert_eq!(items.len(), USERS, "all lie there");
        let session = |item: &serde_json::Value| item["sid"]["S"].as_str().unwrap().to_owned();
        items.iter().map(session).collect()
    };
    let before = sessions().await;
    // another site draws everybody to B: who is served by A is served by a row
    let other = Site::over(site.server.clone(), [0, 100]).await;
    for at in [&site, &other] {
        at.clock
            .advance(QUARTER * 4 - std::time::Duration::from_secs(1));
    }
    assert_eq!(other.group_of(&users[0]).await, "A", "its last second");
    other.clock.advance(std::time::Duration::from_secs(1));
    let mut used = 0;
    for user in &users[1..] {
        used += usize::from(other.group_of(user).await != "B");
    }
    println!("F38 ended rows: {USERS} lay there, {used} were used");
    assert_eq!(used, 0, "a row that has ended was used");
    let after = sessions().await;
    let kept = before.intersection(&after).count();
    assert_eq!(kept, 1, "only the one that was touched in time goes on");
    // the heirs stand for everybody, also for a clock that is behind
    for user in &users[1..] {
        assert_eq!(site.group_of(user).await, "B");
    }
}
