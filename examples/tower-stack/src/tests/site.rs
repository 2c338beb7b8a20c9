//! Endpoints of two groups, the layer over them, and a client with a cookie.

use std::net::SocketAddr;

use axum::Router;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, Request, StatusCode};
use tokio::net::TcpListener;
use tower_affinity::core::{NewGroup, Revision, Rollout, Timestamp, Weight};
use tower_affinity::{AffinityLayer, Groups, Keyring};

pub(super) const OLD: &str = "9f1c2ab";
pub(super) const NEW: &str = "c3d4e5f";

/// Two endpoints of OLD and one of NEW; new sessions are drawn evenly.
pub(super) async fn site() -> (AffinityLayer, Groups) {
    let groups = Groups::default();
    let old = [endpoint(OLD).await, endpoint(OLD).await];
    groups.update(&OLD.parse().unwrap(), old);
    groups.update(&NEW.parse().unwrap(), [endpoint(NEW).await]);
    (layer(&groups), groups)
}

pub(super) fn layer(groups: &Groups) -> AffinityLayer {
    let rollout = [
        NewGroup::active(OLD.parse().unwrap(), Weight::MAX).stable(),
        NewGroup::active(NEW.parse().unwrap(), Weight::MAX),
    ];
    let now = Timestamp::from_secs(1_800_000_000);
    let key = "2026-11:q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE";
    AffinityLayer::builder()
        .keyring(Keyring::parse(key).unwrap())
        .service("checkout")
        .rollout(Rollout::new(Revision(1), now, rollout).unwrap())
        .readiness(groups.clone())
        .build()
        .unwrap()
}

/// An endpoint that answers with its commit and what it was told, until the test ends.
async fn endpoint(commit: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback(move |headers: HeaderMap| async move {
        let told = headers.get_all("affinity-group").iter();
        let told: Vec<&str> = told.map(|value| value.to_str().unwrap()).collect();
        format!("{commit} told {}", told.join(","))
    });
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// A client that keeps the one cookie it is given, as a browser does.
#[derive(Default)]
pub(super) struct Jar(Option<String>);

impl Jar {
    pub(super) fn request(&self) -> http::request::Builder {
        let request = Request::get("/step").header("host", "shop.example");
        match &self.0 {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        }
    }

    pub(super) fn keep(&mut self, headers: &HeaderMap) {
        if let Some(set) = headers.get(SET_COOKIE) {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            self.0 = Some(pair.to_owned());
        }
    }
}

/// Every session's answers: each is of one group, which the endpoint was told once, and each group
/// has sessions.
pub(super) fn check(sessions: &[Vec<(StatusCode, String)>]) {
    let mut groups = std::collections::BTreeSet::new();
    for answers in sessions {
        let first = answers.first().expect("the session has answers");
        for answer in answers {
            assert_eq!(answer, first, "one session saw two answers");
        }
        let (status, body) = first;
        assert_eq!(*status, StatusCode::OK, "{body}");
        let (group, told) = body.split_once(" told ").expect("an endpoint answered");
        assert_eq!(group, told, "the endpoint was told another group");
        groups.insert(group.to_owned());
    }
    let expected: Vec<String> = [OLD, NEW].map(str::to_owned).into();
    assert_eq!(groups.into_iter().collect::<Vec<_>>(), expected);
}
