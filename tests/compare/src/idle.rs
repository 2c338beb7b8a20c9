//! The memory of a proxy that has nothing to do.

use std::io::{Read, Write};
use std::net::TcpStream;

use affinity_tests::BOUND;

use crate::proxies::Running;

/// How many connections are open and silent.
const CONNECTIONS: usize = 1_000;

/// Bytes of resident memory.
pub(crate) struct Idle {
    at_start: u64,
    with_connections: u64,
}

/// Measures a proxy that was just started: before anybody has asked, and with connections that have
/// asked once and are kept.
pub(crate) fn measure(proxy: &Running) -> Idle {
    let at_start = proxy.memory();
    let connections: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(proxy)).collect();
    let with_connections = proxy.memory();
    drop(connections);
    Idle {
        at_start,
        with_connections,
    }
}

/// A connection that has its answer.
fn connect(proxy: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address).expect("the proxy is there");
    stream.set_read_timeout(Some(BOUND)).expect("a bound");
    let request = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", proxy.address);
    stream
        .write_all(request.as_bytes())
        .expect("the proxy reads");
    let (mut answer, mut chunk) = (Vec::new(), [0; 4_096]);
    while !answer.ends_with(b"xx") || answer.len() < 1_024 {
        let read = stream.read(&mut chunk).expect("the proxy answers");
        assert!(read > 0, "{} closes a connection", proxy.name);
        answer.extend_from_slice(&chunk[..read]);
    }
    stream
}

pub(crate) fn print(names: &[&str], idle: &[Idle]) {
    println!("\n**idle: resident memory of all processes**\n");
    println!(
        "| proxy | at start, MiB | with {CONNECTIONS} idle connections, MiB | KiB a connection |"
    );
    println!("| --- | ---: | ---: | ---: |");
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    for (
        name,
        Idle {
            at_start,
            with_connections,
        },
    ) in names.iter().zip(idle)
    {
        let each = with_connections.saturating_sub(*at_start) as f64 / 1_024.0 / CONNECTIONS as f64;
        println!(
            "| {name} | {:.1} | {:.1} | {each:.1} |",
            mebibytes(*at_start),
            mebibytes(*with_connections)
        );
    }
}
