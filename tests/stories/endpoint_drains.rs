//! An operator takes one endpoint of a group out, and takes that back.

use affinity_tests::client::{Answer, Client};
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Ended, run};
use affinity_tests::replica::{Replica, load};
use affinity_tests::{Scratch, until};
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

const OLD: &str = "9f1c2ab";
const BOUND_SCOPE: &str = "[[scope]]\npath = \"/*\"\naffinity = \"endpoint\"\n";

struct Stage {
    fleet: Fleet,
    replica: Replica,
    history: History,
    _dir: Scratch,
}

impl Stage {
    /// A gateway before so many endpoints of one group.
    async fn new(endpoints: usize, sections: &str) -> Self {
        let fleet = Fleet::start(&[OLD], endpoints).await;
        let dir = Scratch::new();
        let mut config = Config::new(&fleet, &[(OLD, 1)]);
        config.sections = sections.to_owned();
        let replica = Replica::start(&dir, &config).await;
        Self {
            fleet,
            replica,
            history: History::default(),
            _dir: dir,
        }
    }

    fn client(&self, number: u64) -> Client {
        Client::new(number, &self.history)
    }

    /// The endpoint that a request reaches, as `GROUP-NUMBER`, and the decision that it is told.
    async fn reaches(&self, client: &mut Client) -> (String, String) {
        let answer = client.get(self.replica.address(), "/").await;
        let execution = self.fleet.ledger().of(answer.request);
        let decision = execution.decision().to_owned();
        (execution.endpoint.to_string(), decision)
    }

    /// Where the `nth` endpoint's verb is, from 1.
    fn path(&self, nth: usize, verb: &str) -> String {
        let address = self.fleet.addresses(OLD)[nth - 1];
        format!("/v1/groups/{OLD}/endpoints/{address}/{verb}")
    }

    async fn mark(&self, nth: usize, verb: &str) -> Value {
        let (path, body) = (self.path(nth, verb), json!({}));
        let told = self.replica.admin.post(&path, &body).await;
        told.accepted();
        told.json()
    }

    /// The `nth` endpoint as the admin side shows it, from 1.
    async fn shown(&self, nth: usize) -> Value {
        self.replica.admin.group(OLD).await["endpoints"][nth - 1].clone()
    }

    /// How many of 40 new sessions reach the `nth` endpoint.
    async fn share(&self, nth: usize) -> usize {
        let (mut share, meant) = (0, format!("{OLD}-{nth}"));
        for number in 0..40 {
            let (reached, _) = self.reaches(&mut self.client(1000 + number)).await;
            share += usize::from(reached == meant);
        }
        share
    }

    async fn rollout(&self, verb: &str, rest: &[&str]) -> Ended {
        let admin = format!("http://{}", self.replica.admin.address());
        let mut args = vec!["rollout", "--admin", &admin, verb, OLD];
        args.extend(rest);
        let token = self.replica.admin.token();
        run(&args, &[("AFFINITY_ADMIN_TOKEN", token)]).await
    }
}

#[tokio::test]
async fn a_drained_endpoint_finishes_what_it_has_and_gets_nothing_new_until_it_is_taken_back() {
    let stage = Stage::new(2, "").await;
    let address = stage.replica.address();
    // one request for each of the two: the second goes where none is in flight
    let held: Vec<_> = (0..2)
        .map(|number| {
            let mut client = stage.client(number);
            tokio::spawn(async move { client.get(address, "/hold").await })
        })
        .collect();
    until("both requests are held", async || {
        let flight = stage.replica.admin.group(OLD).await["in_flight"].as_u64();
        (flight == Some(2)).then_some(())
    })
    .await;
    let busy = match stage.shown(2).await["in_flight"].as_u64() {
        Some(0) => 1,
        _ => 2,
    };
    let told = stage.mark(busy, "drain").await;
    assert_eq!(told["changed"], true, "{told}");
    assert_eq!(told["held"], "all", "it is the only replica: {told}");
    assert_eq!(told["endpoint"]["state"], "draining", "{told}");
    assert_eq!(told["ready_others"], 1, "{told}");
    assert!(told.get("bound").is_none(), "no scope binds: {told}");
    assert_eq!(stage.share(busy).await, 0, "something new reached it");
    let shown = stage.shown(busy).await;
    assert_eq!(shown["state"], "draining");
    assert_eq!(shown["drain"], true);
    assert!(shown["in_flight"].as_u64() >= Some(1), "{shown}");
    let samples = stage.replica.admin.samples().await;
    let draining = [("group", OLD), ("state", "draining")];
    assert_eq!(samples.sum("affinity_endpoint_state", &draining), 1.0);

    stage.fleet.release();
    for request in held {
        let answer: Answer = request.await.unwrap();
        assert_eq!(
            answer.status,
            StatusCode::OK,
            "a request in flight was lost"
        );
    }
    until("nothing is in flight there", async || {
        (stage.shown(busy).await["in_flight"] == 0).then_some(())
    })
    .await;

    let again = stage.mark(busy, "drain").await;
    assert_eq!(again["changed"], false, "{again}");
    stage
        .replica
        .gateway
        .reload(load(&stage.replica.file))
        .unwrap();
    assert_eq!(stage.share(busy).await, 0, "a reload has forgotten it");
    assert_eq!(stage.mark(busy, "undrain").await["changed"], true);
    assert_eq!(stage.mark(busy, "undrain").await["changed"], false);
    assert!(stage.share(busy).await > 0, "it is not taken back");
}

#[tokio::test]
async fn sessions_that_are_bound_to_a_drained_endpoint_stay_and_no_other_comes() {
    let stage = Stage::new(3, BOUND_SCOPE).await;
    let mut clients = Vec::new();
    for number in 0..24 {
        let mut client = stage.client(number);
        let (endpoint, _) = stage.reaches(&mut client).await;
        clients.push((client, endpoint));
    }
    let told = stage.mark(1, "drain").await;
    assert!(told["bound"]["at_most"].is_u64(), "{told}");
    assert!(told["bound"]["last_expiry"].is_u64(), "{told}");
    for (client, endpoint) in &mut clients {
        let reached = stage.reaches(client).await;
        assert_eq!(reached, (endpoint.clone(), "pinned; cause=ok".to_owned()));
    }
    let drained = format!("{OLD}-1");
    let there = clients.iter().filter(|(_, at)| *at == drained).count();
    assert!(there > 0, "no session was bound to it");
    assert_eq!(stage.share(1).await, 0, "a new session was bound to it");
    // what a pin says is told with the address, for operators
    let (client, _) = clients.iter().find(|(_, at)| *at == drained).unwrap();
    let token = client.jar.value(COOKIE).unwrap();
    let admin = &stage.replica.admin;
    let said = admin
        .post("/v1/pins/inspect", &json!({ "token": token }))
        .await;
    let address = stage.fleet.addresses(OLD)[0].to_string();
    assert_eq!(said.json()["endpoint"], address, "{}", said.text());
}

#[tokio::test]
async fn the_last_ready_endpoint_is_drained_by_force_only() {
    let stage = Stage::new(2, "").await;
    let admin = &stage.replica.admin;
    stage.mark(1, "drain").await;
    let refused = admin.post(&stage.path(2, "drain"), &json!({})).await;
    let (kind, detail) = refused.problem(StatusCode::CONFLICT);
    assert_eq!(kind, "refused");
    assert!(
        detail.contains(OLD) && detail.contains("can be forced"),
        "{detail}"
    );
    assert_eq!(refused.json()["can_be_forced"], true);
    let preview = format!("{}?preview=true", stage.path(2, "drain"));
    let refused = admin.post(&preview, &json!({})).await;
    assert_eq!(
        refused.status,
        StatusCode::CONFLICT,
        "the preview says otherwise"
    );
    assert_eq!(stage.shown(2).await["state"], "ready");
    let forced = admin
        .post(&stage.path(2, "drain"), &json!({ "force": true }))
        .await;
    forced.accepted();
    let answer = stage.client(1).get(stage.replica.address(), "/").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    stage.mark(2, "undrain").await;
    let answer = stage.client(2).get(stage.replica.address(), "/").await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn what_names_no_endpoint_is_refused_and_a_preview_changes_nothing() {
    let stage = Stage::new(2, "").await;
    let admin = &stage.replica.admin;
    let real = stage.path(1, "drain");
    for (path, body, status, kind) in [
        (
            format!("/v1/groups/{OLD}/endpoints/127.0.0.1:1/drain"),
            json!({}),
            404,
            "unknown-endpoint",
        ),
        (
            format!("/v1/groups/{OLD}/endpoints/127.0.0.1:1/undrain"),
            json!({}),
            404,
            "unknown-endpoint",
        ),
        (real.replace(OLD, "nobody"), json!({}), 404, "unknown-group"),
        (stage.path(1, "retire"), json!({}), 404, "not-found"),
        (
            format!("/v1/groups/{OLD}/endpoints/localhost/drain"),
            json!({}),
            400,
            "bad-request",
        ),
        (
            stage.path(1, "undrain"),
            json!({ "force": true }),
            400,
            "bad-request",
        ),
        (real.clone(), json!({ "to": OLD }), 400, "bad-request"),
    ] {
        let told = admin.post(&path, &body).await;
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(told.problem(status).0, kind, "{path} {body}");
    }
    let bare = admin.request(Request::post(&real), "{}".into()).await;
    assert_eq!(bare.status, StatusCode::UNAUTHORIZED, "no token");
    let stale = [("if-match", "\"1\"")];
    let stale = admin.change(Method::POST, &real, &json!({}), &stale).await;
    assert_eq!(
        stale.problem(StatusCode::PRECONDITION_FAILED).0,
        "stale-revision"
    );
    let preview = admin
        .post(&format!("{real}?preview=true"), &json!({}))
        .await;
    preview.accepted();
    assert_eq!(preview.json()["preview"], true);
    assert_eq!(preview.json()["changed"], true);
    assert_eq!(preview.json()["ready_others"], 1);
    assert_eq!(
        stage.shown(1).await["state"],
        "ready",
        "something was changed"
    );
    assert!(stage.share(1).await > 0);
}

#[tokio::test]
async fn the_verbs_of_the_binary_drain_an_endpoint_and_take_it_back() {
    let stage = Stage::new(2, "").await;
    let [first, second] = [0, 1].map(|at| stage.fleet.addresses(OLD)[at].to_string());
    let done = stage.rollout("drain-endpoint", &[&first]).await;
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_eq!(done.stdout, "done: draining, 0 in flight, 1 others ready\n");
    assert_eq!(stage.share(1).await, 0);
    let refused = stage.rollout("drain-endpoint", &[&second]).await;
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("can be forced"),
        "{}",
        refused.stderr
    );
    // one of two that are asked is no gateway
    let here = format!("http://{}", stage.replica.admin.address());
    let both = ["--admin", &here, "--admin", "http://127.0.0.1:1", &first];
    let partly = stage.rollout("undrain-endpoint", &both).await;
    assert_eq!(partly.code, 5, "{}", partly.stderr);
    assert!(
        partly.stderr.contains("not done at http://127.0.0.1:1"),
        "{}",
        partly.stderr
    );
    assert!(stage.share(1).await > 0, "it is not taken back");
}
