//! A probe asks one process, whatever session it may show.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use tower_affinity::{Groups, PeerForwardLayer};

use super::client::{Client, NEW, OLD, layer, rollouts};
use crate::{ConnectOver, app, pool};

#[tokio::test]
async fn a_probe_begins_no_session() {
    let rollouts = rollouts();
    let mut client = Client::new(app(layer(&rollouts).build().unwrap(), None));
    let reply = client.get("/livez").await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (StatusCode::OK, "alive\n")
    );
    assert_eq!(client.cookie, None, "a probe has begun a session");
    // so that this test could see one
    client.get("/").await;
    assert!(client.cookie.is_some(), "no route begins a session");
}

#[tokio::test]
async fn a_probe_with_anothers_session_is_answered_here() {
    let rollouts = rollouts();
    let mut elsewhere = Client::new(app(layer(&rollouts).build().unwrap(), None));
    let first = elsewhere.post("/start", None).await.answer();
    assert_eq!(first.state.commit, NEW);

    let affinity = layer(&rollouts).serving(OLD.parse().unwrap());
    // NEW has an address where nobody answers, so whatever is forwarded fails
    let peers = Groups::default();
    peers.update(&NEW.parse().unwrap(), ["127.0.0.1:1".parse().unwrap()]);
    let connect = ConnectOver::new(pool());
    let forwarding = PeerForwardLayer::new(affinity.build().unwrap(), peers, connect);
    let mut client = Client::new(app(forwarding.unwrap(), Some(OLD.parse().unwrap())));
    client.cookie.clone_from(&elsewhere.cookie);
    let forwarded = client.get("/").await;
    assert!(forwarded.status.is_server_error(), "{}", forwarded.body);

    let probe = Request::get("/livez").header("affinity-group", NEW);
    let reply = client.send(probe, Body::empty()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    assert_eq!(reply.body, "alive\n");
    let marks = reply
        .headers
        .keys()
        .filter(|name| name.as_str().starts_with("affinity-"));
    assert_eq!(
        marks.count(),
        0,
        "affinity has seen the probe: {:?}",
        reply.headers
    );
}
