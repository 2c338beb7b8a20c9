//! What the page on migrating tells users of other proxies, with these proxies. Where one is not
//! installed, its tests are skipped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod page;
mod proxy;
mod shop;

use std::collections::BTreeSet;

use affinity_tests::client::Client;
use affinity_tests::config::COOKIE;
use affinity_tests::history::History;
use http::StatusCode;

use self::page::{Part, configuration};
use self::proxy::{Proxy, Running};
use self::shop::{NEW, OLD, Shop};

#[tokio::test]
async fn nginx_accepts_every_configuration() {
    accepts(Proxy::Nginx).await;
}

#[tokio::test]
async fn haproxy_accepts_every_configuration() {
    accepts(Proxy::Haproxy).await;
}

async fn accepts(proxy: Proxy) {
    if !proxy.is_here() {
        return;
    }
    let shop = Shop::open().await;
    for part in Part::ALL {
        let checked = proxy.check(&configuration(proxy.word(), part, &shop.site));
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{part:?}: {said}");
    }
}

/// A shop behind a proxy with that part's configuration; `None` if there is no such proxy.
async fn behind(proxy: Proxy, part: Part) -> Option<(Shop, Running)> {
    if !proxy.is_here() {
        return None;
    }
    let shop = Shop::open().await;
    let text = configuration(proxy.word(), part, &shop.site);
    let running = proxy.run(&text, shop.site.front).await;
    Some((shop, running))
}

#[tokio::test]
async fn through_nginx_sessions_stay_on_their_commit() {
    stays(Proxy::Nginx).await;
}

#[tokio::test]
async fn through_haproxy_sessions_stay_on_their_commit() {
    stays(Proxy::Haproxy).await;
}

async fn stays(proxy: Proxy) {
    let Some((shop, _running)) = behind(proxy, Part::After).await else {
        return;
    };
    let front = shop.site.front;
    let history = History::default();
    let mut commits = BTreeSet::new();
    for number in 0..40 {
        let mut client = Client::new(number, &history);
        let first = client.get(front, "/").await;
        assert_eq!(first.status, StatusCode::OK);
        let cookies = first.cookies();
        assert_eq!(cookies.len(), 1, "one pin: {cookies:?}");
        let attributes = cookies[0].split_once(';').expect("it has attributes").1;
        assert!(cookies[0].starts_with(&format!("{COOKIE}=")));
        assert!(
            ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Lax"]
                .iter()
                .all(|attribute| format!(";{attributes}").contains(attribute)),
            "a browser drops it: {attributes}"
        );
        let commit = first.group().expect("an endpoint answered").to_owned();
        for _ in 0..4 {
            // another connection to another gateway, as the proxy likes
            let mut client = client.tab();
            let answer = client.get(front, "/step").await;
            assert_eq!(answer.group(), Some(&*commit));
        }
        commits.insert(commit);
    }
    assert_eq!(commits.len(), 2, "both commits are drawn: {commits:?}");
    assert_eq!(shop.gateways_that_served().await, 2);
}

#[tokio::test]
async fn through_nginx_a_websocket_and_the_clients_address_arrive() {
    arrive(Proxy::Nginx).await;
}

#[tokio::test]
async fn through_haproxy_a_websocket_and_the_clients_address_arrive() {
    arrive(Proxy::Haproxy).await;
}

async fn arrive(proxy: Proxy) {
    let Some((shop, _running)) = behind(proxy, Part::After).await else {
        return;
    };
    let front = shop.site.front;
    let mut client = Client::new(0, &History::default());
    let first = client.get(front, "/").await;
    let commit = first.group().expect("an endpoint answered").to_owned();
    let said = shop::first_word(front, &client.jar.header().expect("a pin")).await;
    assert_eq!(said, commit, "the socket is on the session's commit");

    // from another address than those of the proxy and of the gateways, which are believed
    let status = shop::get_from(
        "127.0.0.2",
        front,
        "/far",
        "X-Forwarded-For: 192.0.2.66\r\n",
    )
    .await;
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
    let arrived = shop.fleet.ledger().arrival("/far").await;
    let told = arrived.headers.get("x-forwarded-for").expect("it is told");
    assert!(
        told.to_str().unwrap().ends_with("127.0.0.2, 127.0.0.1"),
        "the client as the proxy saw it, then the proxy: {told:?}"
    );
    assert_eq!(arrived.headers.get("x-forwarded-proto").unwrap(), "http");
}

#[tokio::test]
async fn while_nginx_knows_both_ways_old_clients_stay_on_theirs() {
    both_ways(Proxy::Nginx, "sid=7c2f").await;
}

#[tokio::test]
async fn while_haproxy_knows_both_ways_old_clients_stay_on_theirs() {
    both_ways(Proxy::Haproxy, "SRV=old1").await;
}

/// `old` is the cookie of a client that has been there before.
async fn both_ways(proxy: Proxy, old: &str) {
    let Some((shop, _running)) = behind(proxy, Part::During).await else {
        return;
    };
    let front = shop.site.front;
    let history = History::default();
    let mut client = Client::new(0, &history);
    client.jar.take(&format!("{old}; Path=/"));
    for _ in 0..20 {
        let answer = client.get(front, "/step").await;
        assert_eq!(answer.group(), Some(OLD));
        let arrived = shop.fleet.ledger().of(answer.request);
        assert!(
            !arrived.headers.contains_key("affinity-group"),
            "a client of the old way met the gateway"
        );
        assert!(answer.cookies().iter().all(|line| !line.contains(COOKIE)));
    }

    let mut commits = BTreeSet::new();
    for number in 1..41 {
        let mut client = Client::new(number, &history);
        let commit = client.get(front, "/").await.group().unwrap().to_owned();
        // the application's own cookie does not bring it back to the old way
        client.jar.take(&format!("{old}; Path=/"));
        for _ in 0..4 {
            let answer = client.get(front, "/step").await;
            assert_eq!(answer.group(), Some(&*commit));
            let arrived = shop.fleet.ledger().of(answer.request);
            assert!(arrived.headers.contains_key("affinity-group"));
        }
        commits.insert(commit);
    }
    let both: BTreeSet<_> = [OLD, NEW].map(str::to_owned).into();
    assert_eq!(commits, both, "new clients are drawn by weight");
}
