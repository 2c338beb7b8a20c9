//! The whole script, watched on a screen: once without affinity, once with it.

use std::{
    error::Error,
    io::{self, Write},
};

use thiserror::Error;
use tokio::time::MissedTickBehavior;

use super::{
    acts::{Pace, REPLACE, ROLL_BACK, Stage},
    board::{Affinity, Board},
    fleet::Fleet,
    gateway::{Gateway, Places},
    operator::Refused,
    report::{Report, Run},
    screen::Screen,
};

/// Why a run did not come to its end.
#[derive(Debug, Error)]
pub(crate) enum Stopped {
    #[error("a gateway did not start")]
    Gateway(#[source] Box<dyn Error + Send + Sync>),
    #[error("the operator was refused")]
    Refused(#[from] Refused),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

/// Plays the script on a gateway without affinity, then on this one.
pub(crate) async fn both<G: Gateway, W: Write>(
    on: &G,
    fleet: &Fleet,
    pace: Pace,
    screen: &mut Screen<W>,
) -> Result<Report, Stopped> {
    let off = G::open(Affinity::Off, fleet, Places::free())
        .await
        .map_err(|fault| Stopped::Gateway(fault.into()))?;
    let stage = Stage {
        operator: &off,
        fleet,
        site: off.places().site,
        pace,
        seed: SEED,
    };
    let without = one(Affinity::Off, &stage, screen).await?;
    let stage = Stage {
        operator: on,
        site: on.places().site,
        ..stage
    };
    let with = one(Affinity::On, &stage, screen).await?;
    off.close().await;
    Ok(Report {
        off: without,
        on: with,
    })
}

async fn one<G: Gateway, W: Write>(
    affinity: Affinity,
    stage: &Stage<'_, G>,
    screen: &mut Screen<W>,
) -> Result<Run, Stopped> {
    let board = Board::new(affinity);
    let mut acts = std::pin::pin!(async {
        stage.play(&REPLACE, &board).await?;
        stage.play(&ROLL_BACK, &board).await
    });
    let mut tick = tokio::time::interval(screen.interval());
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            ended = &mut acts => break ended?,
            _ = tick.tick() => screen.draw(&board)?,
        }
    }
    screen.close(&board)?;
    Ok(Run::of(board.now()))
}

/// The same clients with the same habits in every run.
const SEED: u64 = 20;
