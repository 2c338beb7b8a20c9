//! What a pinned request costs one gateway binary beside another, in processor time of its process.
//!
//! `gateways ROUNDS SECONDS NAME=BINARY...`: each round measures every binary once, so that what the
//! machine does meanwhile meets them alike. Prints the median of all rounds, the least and the greatest
//! value, and the median of the ratios to the first binary within a round.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]
#![allow(clippy::expect_used, clippy::panic)] // it has nobody to answer to

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use affinity_tests::Scratch;
use affinity_tests::config::Config;
use affinity_tests::process::Process;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

const CONNECTIONS: usize = 64;
const BODY: usize = 1_024;

/// A gateway that is measured.
struct Subject {
    name: String,
    gateway: Process,
    _dir: Scratch,
    /// Microseconds a request, by round.
    costs: Vec<f64>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut args = std::env::args().skip(1);
    let number = |arg: Option<String>, what: &str| -> u64 {
        let arg = arg.unwrap_or_else(|| panic!("{what} is missing"));
        arg.parse()
            .unwrap_or_else(|_| panic!("{what} {arg} is no number"))
    };
    let rounds = number(args.next(), "ROUNDS");
    let span = Duration::from_secs(number(args.next(), "SECONDS"));
    let upstreams = [upstream().await, upstream().await];
    let mut subjects = Vec::new();
    for arg in args {
        let (name, binary) = arg.split_once('=').expect("NAME=BINARY");
        subjects.push(subject(name, Path::new(binary), upstreams).await);
    }
    for _ in 0..rounds {
        for subject in &mut subjects {
            let cost = round(&subject.gateway, span).await;
            subject.costs.push(cost);
        }
    }
    println!("| gateway | median, µs of CPU a request | all rounds | to the first |");
    println!("| --- | ---: | ---: | ---: |");
    let first = subjects.first().map(|first| first.costs.clone());
    for subject in &mut subjects {
        let first = first.iter().flatten();
        let ratios = subject
            .costs
            .iter()
            .zip(first)
            .map(|(cost, first)| cost / first);
        let ratio = median(&mut ratios.collect::<Vec<_>>());
        let middle = median(&mut subject.costs);
        let (least, most) = (subject.costs.first(), subject.costs.last());
        let (least, most) = least.zip(most).expect("a round");
        let name = &subject.name;
        println!("| {name} | {middle:.2} | {least:.2} – {most:.2} | {ratio:.3} |");
    }
}

async fn subject(name: &str, binary: &Path, upstreams: [SocketAddr; 2]) -> Subject {
    let dir = Scratch::new();
    let [stable, canary] = upstreams.map(|upstream| vec![upstream]);
    let config = Config::of([("9f1c2ab", 9, stable), ("c3d4e5f", 1, canary)]);
    let file = config.write(&dir, "gateway.toml");
    Subject {
        name: name.to_owned(),
        gateway: Process::start_binary(binary, &file).await,
        _dir: dir,
        costs: Vec::new(),
    }
}

/// The cost of one request in microseconds.
async fn round(gateway: &Process, span: Duration) -> f64 {
    let at = gateway.address();
    // connections and caches are warm before anything counts
    load(at, span / 8).await;
    let before = gateway.cpu();
    let answers = load(at, span).await;
    let spent = gateway.cpu() - before;
    spent.as_secs_f64() * 1e6 / answers as f64
}

/// So many answers came to pinned requests on all connections within `span`.
async fn load(at: SocketAddr, span: Duration) -> u64 {
    let until = Instant::now() + span;
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS {
        clients.spawn(client(at, until));
    }
    clients.join_all().await.into_iter().sum()
}

async fn client(at: SocketAddr, until: Instant) -> u64 {
    let mut stream = TcpStream::connect(at).await.expect("the gateway listens");
    let mut read = vec![0; 16_384];
    let head = format!("GET /step/1 HTTP/1.1\r\nhost: {at}\r\nuser-agent: load\r\naccept: */*\r\n");
    let first = exchange(&mut stream, &format!("{head}\r\n"), &mut read).await;
    let first = first.to_ascii_lowercase();
    let (_, cookie) = first
        .split_once("set-cookie: ")
        .expect("a first answer has a pin");
    // the value is as it was: only names are in any case
    let name = cookie.split('=').next().expect("a name");
    let begin = String::from_utf8_lossy(&read)
        .to_ascii_lowercase()
        .find(name)
        .expect("it is there");
    let pin = String::from_utf8_lossy(read.get(begin..).expect("it is there")).into_owned();
    let pin = pin.split(';').next().expect("a pin");
    let request = format!("{head}cookie: {pin}\r\n\r\n");
    let mut answers = 0;
    while timeout_at(until, exchange(&mut stream, &request, &mut read))
        .await
        .is_ok()
    {
        answers += 1;
    }
    answers
}

/// Sends a request and reads its whole answer; answers the head.
async fn exchange(stream: &mut TcpStream, request: &str, into: &mut [u8]) -> String {
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the gateway reads");
    let mut length = 0;
    loop {
        let rest = into.get_mut(length..).expect("it fits");
        length += stream.read(rest).await.expect("the gateway answers");
        let so_far = into.get(..length).expect("it was read");
        if let Some(end) = so_far.windows(4).position(|four| four == b"\r\n\r\n")
            && length >= end + 4 + BODY
        {
            let head = String::from_utf8_lossy(so_far.get(..end).expect("it was read"));
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            return head.into_owned();
        }
    }
}

/// An endpoint that answers everything alike.
async fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let body = "x".repeat(BODY);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {BODY}\r\n\r\n{body}");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let (mut read, mut length) = (vec![0; 16_384], 0);
                while let Ok(more @ 1..) = stream
                    .read(read.get_mut(length..).unwrap_or_default())
                    .await
                {
                    length += more;
                    if read
                        .get(..length)
                        .is_some_and(|head| head.ends_with(b"\r\n\r\n"))
                    {
                        length = 0;
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
