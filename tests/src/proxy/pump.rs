//! Passes bytes on, one direction at a time, with the fault that is set when they come.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::sleep;

use super::fault::{Fault, How, Way};

/// How one direction ended.
enum Ended {
    /// Its source has ended, or the fault ends this direction only.
    Here,
    /// The whole connection ends.
    Whole { reset: bool },
}

/// Passes bytes both ways until both have ended, or the fault ends the connection.
pub(super) async fn both(
    client: TcpStream,
    server: TcpStream,
    number: u64,
    fault: watch::Receiver<Fault>,
) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    // bytes that came back: a connection that has answered is idle until it is asked again
    let answered = AtomicU64::new(0);
    let way = |way| Direction {
        way,
        number,
        fault: fault.clone(),
        answered: &answered,
    };
    let reset = {
        let up = way(Way::Up).pass(&mut from_client, &mut to_server);
        let down = way(Way::Down).pass(&mut from_server, &mut to_client);
        tokio::pin!(up, down);
        let reset = tokio::select! {
            Ended::Whole { reset } = &mut up => reset,
            Ended::Whole { reset } = &mut down => reset,
            else => false,
        };
        reset
    };
    if reset {
        for stream in [
            from_client.reunite(to_client).expect("they were one"),
            from_server.reunite(to_server).expect("they were one"),
        ] {
            // a connection that is gone needs no reset
            drop(stream.set_zero_linger());
        }
    }
}

struct Direction<'a> {
    way: Way,
    number: u64,
    fault: watch::Receiver<Fault>,
    answered: &'a AtomicU64,
}

impl Direction<'_> {
    async fn pass(mut self, from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf) -> Ended {
        let mut passed = 0_u64;
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let read = from.read(&mut buffer).await;
            let Some(read) = read.ok().filter(|read| *read > 0) else {
                // the other side learns of the end; one that is gone need not
                drop(to.shutdown().await);
                return Ended::Here;
            };
            if self.fault.has_changed().unwrap_or(false) {
                // bytes are counted from when the fault was set
                passed = 0;
            }
            let fault = self.fault.borrow_and_update().clone();
            if fault.silent {
                stall().await;
            }
            let idle = self.answered.load(Ordering::Relaxed) > 0;
            if fault.reset_idle && self.way == Way::Up && idle {
                return Ended::Whole { reset: true };
            }
            let mut rest = &buffer[..read];
            while !rest.is_empty() {
                let (mut piece, left) =
                    rest.split_at(rest.len().min(fault.piece.unwrap_or(rest.len()).max(1)));
                let end = fault.end.as_ref().filter(|end| end.way == self.way);
                let room = end.map_or(u64::MAX, |end| {
                    end.after(self.number).saturating_sub(passed)
                });
                let ends = room <= piece.len() as u64;
                if ends {
                    piece = &piece[..usize::try_from(room).expect("it is shorter than a piece")];
                }
                self.wait(&fault, piece.len()).await;
                if to.write_all(piece).await.is_err() {
                    return Ended::Whole { reset: false };
                }
                passed += piece.len() as u64;
                if self.way == Way::Down {
                    self.answered
                        .fetch_add(piece.len() as u64, Ordering::Relaxed);
                }
                if let Some(end) = end.filter(|_| ends) {
                    match end.how {
                        How::Close => return Ended::Whole { reset: false },
                        How::Reset => return Ended::Whole { reset: true },
                        How::Stall => stall().await,
                        How::HalfClose => {
                            drop(to.shutdown().await);
                            return Ended::Here;
                        }
                    }
                }
                rest = left;
            }
        }
    }

    async fn wait(&self, fault: &Fault, bytes: usize) {
        if self.way == Way::Down {
            sleep(fault.delay).await;
        }
        if let Some(bandwidth) = fault.bandwidth {
            sleep(Duration::from_secs_f64(
                bytes as f64 / bandwidth.max(1) as f64,
            ))
            .await;
        }
    }
}

/// Until the connection is dropped.
async fn stall() {
    std::future::pending::<()>().await;
}
