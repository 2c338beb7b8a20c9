//! An endpoint as a process of its own, which can be killed, stopped and told how to behave.
//!
//! ```text
//! affinity-pod GROUP NAME ADDRESS LEDGER http1|h2c plain|identity
//! ```
//!
//! It prints `listening ADDRESS`, appends what it executes to its [ledger], takes
//! [orders](control) line by line, and ends when they end, so that it never outlives its story.
//! With `identity` it refuses what was meant for another group.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod answer;
mod body;
mod control;
mod ledger;
mod listen;
mod options;

use std::io::Write;

use tokio::net::TcpListener;

use crate::answer::Pod;
use crate::control::Switches;
use crate::ledger::Ledger;
use crate::options::Options;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = Options::read(std::env::args().skip(1));
    let listener = TcpListener::bind(options.address)
        .await
        .expect("a free address");
    let address = listener.local_addr().expect("a listener has an address");
    writeln!(std::io::stdout(), "listening {address}").expect("stdout is open");
    let switches = Switches::new();
    let pod = Pod {
        group: options.group,
        name: options.name,
        ledger: Ledger::open(&options.ledger),
        switches: switches.clone(),
    };
    let listening = listen::listen(listener, pod, options.protocol, options.identity);
    tokio::select! {
        () = listening => {}
        () = control::obey(&switches) => {}
    }
}
