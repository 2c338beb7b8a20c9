//! Clients that walk the flow, each request at a process that a plain balancer picks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};
use axum::http::{Request, StatusCode};
use fastrand::Rng;
use http_body_util::{BodyExt, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::BoxError;
use super::tally::Tally;
use crate::{Answer, State};

/// How many steps a client takes before it finishes.
const STEPS: u32 = 3;

/// How long a client thinks between two requests, in milliseconds.
const THINK: std::ops::Range<u64> = 300..1_200;

/// How long a client waits for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// The longest answer that is read.
const MOST_BYTES: usize = 64 * 1024;

/// What all clients share.
pub(super) struct Site {
    pub(super) client: Client<HttpConnector, Body>,
    /// Where the processes are, and which commit each runs.
    pub(super) processes: Vec<(SocketAddr, &'static str)>,
    /// How many requests may be under way at once.
    pub(super) room: Semaphore,
    pub(super) tally: Tally,
}

/// One session of one client.
struct Session<'a> {
    site: &'a Site,
    rng: &'a mut Rng,
    cookie: Option<String>,
    /// The commit of the last answer.
    commit: Option<String>,
    moves: u64,
}

impl Site {
    /// Whether a process of `commit` can begin a session, here or at a peer. It is left at that.
    pub(super) async fn starts_at(&self, commit: &str) -> bool {
        let mut processes = self.processes.iter();
        let Some((address, _)) = processes.find(|(_, here)| *here == commit) else {
            return false;
        };
        let request = Request::post(format!("http://{address}/start")).body(Body::empty());
        let Ok(request) = request else { return false };
        let answered = timeout(ANSWER_LIMIT, self.client.request(request)).await;
        matches!(answered, Ok(Ok(response)) if response.status() == StatusCode::OK)
    }
}

/// Walks the flow again and again until the show is over; the flow that is under way is finished.
pub(super) async fn walk(site: Arc<Site>, over: watch::Receiver<bool>, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    while !*over.borrow() {
        sleep(Duration::from_millis(rng.u64(0..THINK.end))).await;
        site.tally.begin();
        let mut session = Session {
            site: &site,
            rng: &mut rng,
            cookie: None,
            commit: None,
            moves: 0,
        };
        if let Err(why) = session.flow().await {
            site.tally.broke(why.to_string());
        }
    }
}

impl Session<'_> {
    async fn flow(&mut self) -> Result<(), BoxError> {
        let mut state = self.post("/start", None).await?.state;
        // a flow that begins anew takes its steps again, once for each move
        for _ in 0..8 * STEPS {
            sleep(Duration::from_millis(self.rng.u64(THINK))).await;
            let path = if state.done < STEPS {
                "/step"
            } else {
                "/finish"
            };
            let answer = self.post(path, Some(&state)).await?;
            if answer.restarted_from.is_some() {
                self.site.tally.restarted();
            } else if path == "/finish" {
                return Ok(());
            }
            state = answer.state;
        }
        Err("the flow goes in circles".into())
    }

    async fn post(&mut self, path: &str, state: Option<&State>) -> Result<Answer, BoxError> {
        let nth = self.rng.usize(..self.site.processes.len());
        let (address, here) = *self.site.processes.get(nth).ok_or("no process")?;
        let body = match state {
            Some(state) => Body::from(serde_json::to_vec(state)?),
            None => Body::empty(),
        };
        let mut request = Request::post(format!("http://{address}{path}"))
            .header(CONTENT_TYPE, "application/json");
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        let request = request.body(body)?;
        let room = self.site.room.acquire().await?;
        let answered = async {
            let (head, body) = self.site.client.request(request).await?.into_parts();
            let body = Limited::new(body, MOST_BYTES).collect().await?.to_bytes();
            Ok::<_, BoxError>((head, body))
        };
        let (head, body) = timeout(ANSWER_LIMIT, answered).await??;
        drop(room);
        for line in head.headers.get_all(SET_COOKIE) {
            let line = line.to_str()?;
            let pair = line.split(';').next().unwrap_or_default();
            let clears = line.ends_with("Max-Age=0");
            self.cookie = (!clears).then(|| pair.to_owned());
        }
        if head.status != StatusCode::OK {
            let said = String::from_utf8_lossy(&body);
            let status = head.status.as_u16();
            return Err(format!("{path} at {here} answered {status}: {}", said.trim()).into());
        }
        let answer: Answer = serde_json::from_slice(&body)?;
        let served = &answer.state.commit;
        if served != here {
            self.site.tally.forwarded();
        }
        if self.commit.as_ref().is_some_and(|before| before != served) {
            self.moves += 1;
            self.site.tally.moved(self.moves);
        }
        self.commit = Some(served.clone());
        Ok(answer)
    }
}
