//! One case on one connection.

use std::time::Duration;

use affinity_tests::http2::{Connection, Frame, PREFACE, code, flag, frame, kind, status};
use tokio::time::timeout;

use super::came::Came;
use super::case::{Case, Expected, Step};

/// How long what must come may take beside other tests; only what never comes takes so long.
const PATIENCE: Duration = Duration::from_secs(12);

/// How long something that must not come is waited for once a PING was answered after it.
const QUIET: Duration = Duration::from_millis(200);

/// Plays the case. The error is what came instead.
pub(super) async fn run(case: &Case, connection: Connection) -> Result<(), Came> {
    let came = Came::default();
    let mut exchange = Exchange { connection, came };
    if exchange.play(case).await {
        Ok(())
    } else {
        Err(exchange.came)
    }
}

struct Exchange {
    connection: Connection,
    came: Came,
}

impl Exchange {
    async fn play(&mut self, case: &Case) -> bool {
        if case.script.opened && !self.open().await {
            return false;
        }
        for step in &case.script.steps {
            if !self.step(step).await {
                return false;
            }
        }
        self.fulfils(&case.expected).await
    }

    /// Both sides send their settings, first of all, and confirm the other's.
    async fn open(&mut self) -> bool {
        let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
        self.connection.write(&[PREFACE, &settings].concat()).await;
        let is_first = |it: &Frame| it.kind == kind::SETTINGS && !it.has(flag::ACK);
        let begun = self
            .until(|came| confirmed(came) == 1 && came.frames.iter().any(is_first))
            .await;
        let ack = frame(kind::SETTINGS, flag::ACK, 0, &[]);
        self.connection.write(&ack).await;
        begun && self.came.frames.first().is_some_and(is_first)
    }

    async fn step(&mut self, step: &Step) -> bool {
        match *step {
            // that the other side has closed is for the case to judge
            Step::Send(ref bytes) => {
                self.connection.write(bytes).await;
                true
            }
            Step::Repeat(ref bytes, times) => {
                for _ in 0..times {
                    if !self.connection.write(bytes).await {
                        break;
                    }
                }
                true
            }
            Step::Head(stream) => self.until(|came| came.answer(stream).is_some()).await,
            Step::End(stream) => self.until(|came| came.finished(stream)).await,
            Step::Data(stream, octets) => self.until(|came| came.body(stream) >= octets).await,
        }
    }

    async fn fulfils(&mut self, expected: &Expected) -> bool {
        match *expected {
            Expected::ConnectionError(codes) => {
                self.until(|_| false).await;
                self.came.ended && self.came.goaways().all(|code| codes.contains(&code))
            }
            Expected::StreamError(stream, codes) => {
                self.until(|came| came.reset(stream).is_some()).await;
                self.came.failed(stream, codes)
            }
            Expected::Malformed(stream) => {
                self.until(|came| came.reset(stream).is_some() || came.finished(stream))
                    .await;
                let blamed = self.status(stream).is_some_and(|status| status / 100 == 4);
                blamed || self.came.failed(stream, &[code::PROTOCOL_ERROR])
            }
            Expected::Answer(stream) => {
                self.until(|came| came.reset(stream).is_some() || came.finished(stream))
                    .await;
                let mut goaways = self.came.goaways();
                self.status(stream) == Some(200) && goaways.all(|code| code == code::NO_ERROR)
            }
            Expected::Alive => self.alive().await,
            Expected::Held(stream, octets) => {
                let alive = self.alive().await;
                self.within(QUIET, |_| false).await;
                alive && self.came.body(stream) == octets && !self.came.finished(stream)
            }
            Expected::NoPong(payload) => {
                let ponged = |it: &Frame| it.kind == kind::PING && it.payload == payload;
                self.alive().await && !self.came.frames.iter().any(ponged)
            }
            Expected::Confirmed(times) => {
                self.until(|came| confirmed(came) >= times).await;
                self.alive().await && confirmed(&self.came) == times
            }
        }
    }

    /// The status of an answer that has come to its end.
    fn status(&self, stream: u32) -> Option<u16> {
        let head = self.came.answer(stream)?;
        self.came.finished(stream).then(|| status(&head.payload))?
    }

    /// Two PINGs are answered, one after the other, and nothing has been reset by then: what the
    /// first answer overtook has come before the second.
    async fn alive(&mut self) -> bool {
        for probe in [*b"probe  1", *b"probe  2"] {
            let ping = frame(kind::PING, flag::NONE, 0, &probe);
            self.connection.write(&ping).await;
            let pong =
                |it: &Frame| it.kind == kind::PING && it.has(flag::ACK) && it.payload == probe;
            if !self.until(|came| came.frames.iter().any(pong)).await {
                return false;
            }
        }
        !self.came.ended && self.came.frames.iter().all(|it| it.code().is_none())
    }

    /// Reads until `holds`; false if it has not by the end or in time.
    async fn until(&mut self, holds: impl Fn(&Came) -> bool) -> bool {
        self.within(PATIENCE, holds).await
    }

    async fn within(&mut self, limit: Duration, holds: impl Fn(&Came) -> bool) -> bool {
        let read = async {
            while !holds(&self.came) && !self.came.ended {
                match self.connection.next().await {
                    Some(frame) => self.came.frames.push(frame),
                    None => self.came.ended = true,
                }
            }
        };
        // what came in time is judged, whether or not it was enough
        drop(timeout(limit, read).await);
        holds(&self.came)
    }
}

/// How many SETTINGS have been confirmed.
fn confirmed(came: &Came) -> usize {
    let confirms = |it: &&Frame| it.kind == kind::SETTINGS && it.has(flag::ACK);
    came.frames.iter().filter(confirms).count()
}
