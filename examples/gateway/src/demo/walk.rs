//! One session: a client walks the flow from its start to its end, or to the refusal that ends it.

use std::{error::Error, ops::Range, time::Duration};

use fastrand::Rng;

use super::{
    client::{Client, Lost},
    flow::{FINISH, State, StepRequest},
    tally::{Session, Tally},
};

/// A session that needs more requests than this is going in circles.
const MOST_REQUESTS: usize = 64;

/// Walks the flow once and enters everything that happens into the tally.
pub(crate) async fn walk(mut client: Client, mut rng: Rng, think: Range<Duration>, tally: &Tally) {
    let mut session = tally.begin();
    match steps(&mut client, &mut rng, &think, &mut session).await {
        Ok(()) => session.finish(),
        Err(why) => session.broke(why),
    }
}

async fn steps(
    client: &mut Client,
    rng: &mut Rng,
    think: &Range<Duration>,
    session: &mut Session<'_>,
) -> Result<(), String> {
    let mut state: Option<State> = None;
    for _ in 0..MOST_REQUESTS {
        let (path, body) = match state.take() {
            None => ("/flow/start", None),
            Some(state) => {
                tokio::time::sleep(pause(rng, think)).await;
                let path = if state.at == FINISH {
                    "/flow/finish"
                } else {
                    "/flow/step"
                };
                (
                    path,
                    Some(StepRequest {
                        state,
                        input: format!("answer {}", rng.u16(..)),
                    }),
                )
            }
        };
        let (status, answer) = client
            .post(path, body.as_ref())
            .await
            .map_err(|lost| told(&lost))?;
        session.answered(&answer.commit);
        if let Some(error) = answer.error {
            return Err(format!(
                "{} answered {}: {error}",
                answer.commit,
                status.as_u16()
            ));
        }
        if !status.is_success() {
            return Err(format!("{} answered {}", answer.commit, status.as_u16()));
        }
        if answer.restart {
            session.restarted();
        }
        if answer.finished {
            return Ok(());
        }
        state = answer.state;
    }
    Err(format!("no end after {MOST_REQUESTS} requests"))
}

fn pause(rng: &mut Rng, think: &Range<Duration>) -> Duration {
    think.start + think.end.saturating_sub(think.start).mul_f64(rng.f64())
}

fn told(lost: &Lost) -> String {
    match lost.source() {
        Some(cause) => format!("{lost}: {cause}"),
        None => lost.to_string(),
    }
}
