//! One run of the whole script, watched on a screen.

use std::io::{self, Write};

use thiserror::Error;
use tokio::time::MissedTickBehavior;

use super::{
    acts::{REPLACE, ROLL_BACK, Stage},
    board::{Affinity, Board},
    operator::{Operator, Refused},
    report::Run,
    screen::Screen,
};

/// Why a run did not come to its end.
#[derive(Debug, Error)]
pub(crate) enum Stopped {
    #[error("the operator was refused")]
    Refused(#[from] Refused),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

/// Plays both acts and draws them as they go.
pub(crate) async fn run<O: Operator, W: Write>(
    affinity: Affinity,
    stage: &Stage<'_, O>,
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
