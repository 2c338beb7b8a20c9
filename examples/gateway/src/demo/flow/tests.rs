//! What the graphs refuse, and what an endpoint answers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::{A, Answer, B, C, FINISH, Graph, State, StepRequest, router};

const COMMITS: [&Graph; 3] = [&A, &B, &C];

// Every state that a session on this commit carries, the first one included.
fn states(graph: &Graph) -> Vec<State> {
    let mut states = vec![graph.first()];
    while states.last().is_some_and(|state| state.at != FINISH) {
        let state = states.last().unwrap().clone();
        states.push(graph.advance(state, "x".into()).unwrap());
    }
    states
}

fn refuses(graph: &Graph, state: &State) -> bool {
    if state.at == FINISH {
        graph.finish(state).is_err()
    } else {
        graph.advance(state.clone(), "x".into()).is_err()
    }
}

#[test]
fn each_commit_finishes_its_own_sessions() {
    for graph in COMMITS {
        let states = states(graph);
        assert_eq!(
            states.len(),
            graph.nodes.len() + 1,
            "commit {}",
            graph.commit
        );
        assert_eq!(
            graph.finish(states.last().unwrap()),
            Ok(()),
            "commit {}",
            graph.commit
        );
    }
}

#[test]
fn a_session_under_way_is_refused_by_every_other_commit() {
    for writer in COMMITS {
        for reader in COMMITS
            .into_iter()
            .filter(|reader| reader.commit != writer.commit)
        {
            for state in states(writer).iter().skip(1) {
                let (writer, reader) = (writer.commit, reader.commit);
                let graph = COMMITS
                    .into_iter()
                    .find(|graph| graph.commit == reader)
                    .unwrap();
                assert!(
                    refuses(graph, state),
                    "{reader} accepts {state:?} of {writer}"
                );
            }
        }
    }
}

#[test]
fn the_end_is_refused_before_every_step_is_answered() {
    let refusal = A.finish(&A.first()).unwrap_err();
    assert_eq!(refusal.to_string(), "node \"contact\" is not answered yet");
}

async fn post(path: &str, moved: bool, body: String) -> (StatusCode, Option<String>, Answer) {
    let mut request = Request::post(path).header("content-type", "application/json");
    if moved {
        request = request.header(
            "affinity-moved-from",
            "7b20d94; at=1790000000; cause=aborted",
        );
    }
    let service = TowerToHyperService::new(router(&B, "c3d4e5f-2"));
    let response = service
        .call(request.body(Body::from(body)).unwrap())
        .await
        .unwrap();
    let said = response
        .headers()
        .get("affinity-session")
        .map(|said| said.to_str().unwrap().to_owned());
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (
        status,
        said,
        serde_json::from_slice(&bytes).expect("the flow always answers in JSON"),
    )
}

fn carry(state: State) -> String {
    serde_json::to_string(&StepRequest {
        state,
        input: "x".into(),
    })
    .unwrap()
}

#[tokio::test]
async fn every_answer_names_commit_and_endpoint() {
    for (path, body) in [
        ("/flow/start", String::new()),
        ("/flow/step", carry(B.first())),
        ("/flow/step", carry(A.first())),
        ("/flow/step", "not json".to_owned()),
        ("/flow/finish", carry(B.first())),
    ] {
        let (_, _, answer) = post(path, false, body).await;
        assert_eq!(answer.commit, "c3d4e5f", "{path}");
        assert_eq!(answer.endpoint, "c3d4e5f-2", "{path}");
    }
}

#[tokio::test]
async fn a_state_of_another_commit_is_a_conflict() {
    let (status, said, answer) = post("/flow/step", false, carry(A.first())).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(said, None);
    assert_eq!(answer.error.as_deref(), Some("unknown node \"contact\""));
}

#[tokio::test]
async fn a_moved_session_begins_again_and_says_so() {
    let under_way = states(&C).swap_remove(3);
    for path in ["/flow/step", "/flow/finish"] {
        let (status, said, answer) = post(path, true, carry(under_way.clone())).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert_eq!(said.as_deref(), Some("moved-seen"), "{path}");
        assert!(answer.restart, "{path}");
        assert_eq!(answer.moved_from.as_deref(), Some("7b20d94"), "{path}");
        assert_eq!(answer.state, Some(B.first()), "{path}");
    }
}

#[tokio::test]
async fn a_finished_session_is_given_back() {
    let last = states(&B).pop().unwrap();
    let (status, said, answer) = post("/flow/finish", false, carry(last)).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(said.as_deref(), Some("end"));
    assert!(answer.finished);
}
