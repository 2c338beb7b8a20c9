//! F36: two primaries for a while, each with a gateway of its own.

use std::time::Duration;

use affinity_tests::Scratch;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::proxy::Proxy;
use tokio::time::Instant;

use super::failover::{Servers, draw, gateway, until_asked};
use super::stage::{NEW, OLD, Scale};
use super::users::{Paths, Shows, all_ask, users};

const EACH: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f36_two_primaries_move_nobody_to_and_fro() {
    let Some(servers) = Servers::start().await else {
        return;
    };
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let primary = servers.primary.address();
    let ways = [Proxy::to(primary).await, Proxy::to(primary).await];
    let gateways = [
        gateway(&dir, &fleet, &ways[0], "one").await,
        gateway(&dir, &fleet, &ways[1], "two").await,
    ];
    let (at, history) = (gateways.each_ref().map(|g| g.address()), History::default());
    // those change the gateway with every request
    let mut roaming = users(0, EACH, Shows::Cookies, &history);
    roaming.extend(users(1_000, EACH, Shows::Both, &history));
    // those stay at one, and have rows that both servers know
    let mut here = users(2_000, EACH, Shows::Id, &history);
    let mut there = users(3_000, EACH, Shows::Id, &history);
    for (gateway, user) in gateways.iter().zip([9_000, 9_001]) {
        until_asked(gateway, &fleet, &history, user).await;
    }
    all_ask(&mut roaming, at[0]).await;
    all_ask(&mut roaming, at[1]).await;
    all_ask(&mut here, at[0]).await;
    all_ask(&mut there, at[1]).await;
    servers.caught_up().await;

    servers.part();
    servers.promote().await;
    ways[1].turn_to(servers.replica.address());
    for gateway in &gateways {
        draw(gateway, NEW).await;
    }
    until_asked(&gateways[1], &fleet, &history, 9_002).await;
    let mut new_here = users(4_000, EACH, Shows::Id, &history);
    let mut new_there = users(5_000, EACH, Shows::Id, &history);
    roaming.extend(users(6_000, EACH, Shows::Both, &history));
    let span = match Scale::of_environment().is_full() {
        true => Duration::from_secs(5),
        false => Duration::from_millis(1500),
    };
    let since = Instant::now();
    let mut turn = 0;
    while since.elapsed() < span {
        all_ask(&mut roaming, at[turn % 2]).await;
        for users in [&mut here, &mut new_here] {
            all_ask(users, at[0]).await;
        }
        for users in [&mut there, &mut new_there] {
            all_ask(users, at[1]).await;
        }
        turn += 1;
    }

    // what only the other primary was told is lost, and drawn anew as everybody is now
    for gateway in &gateways {
        draw(gateway, OLD).await;
    }
    ways[1].turn_to(primary);
    until_asked(&gateways[1], &fleet, &history, 9_003).await;
    for turn in 0..6 {
        all_ask(&mut roaming, at[turn % 2]).await;
        for users in [&mut here, &mut new_here] {
            all_ask(users, at[0]).await;
        }
        for users in [&mut there, &mut new_there] {
            all_ask(users, at[1]).await;
        }
    }

    let paths = Paths::of(&history, &fleet);
    let kinds = [&roaming, &here, &there, &new_here, &new_there];
    let moves = kinds.map(|users| paths.moves(users));
    let blind = kinds.map(|users| paths.blind(users));
    println!(
        "F36 two primaries for {span:?}: {} requests, {EACH} lost first claims; moves of users \
         with pins, with rows at both, at either, new ones at the first, at the second: {moves:?}; \
         answers without the store {blind:?}",
        history.len(),
    );
    assert_eq!(
        moves[..4],
        [0, 0, 0, 0],
        "a pin or a row that was kept decides"
    );
    assert!(moves[4] as u64 <= EACH, "{} moves", moves[4]);
    assert!(moves[4] > 0, "nothing was lost");
}
