//! F41, F42 and F43: clients that take all connections, all time or all frames.

use std::time::Duration;

use affinity_tests::http2::{PREFACE, code, flag, frame, kind, request};
use affinity_tests::load::Ask;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::stage::{Stage, UPSTREAM, mixed};

/// What a client of these waits at most for an answer of the admin side.
const ADMIN: Duration = Duration::from_secs(2);

#[expect(clippy::print_stdout, reason = "a run tells what it measured")]
pub(crate) fn tell(measured: &str) {
    println!("{measured}");
}

/// Opens connections that send `bytes` and nothing more.
async fn hold(stage: &Stage, count: usize, bytes: &'static [u8]) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..count {
        let opened = timeout(ADMIN, TcpStream::connect(stage.address())).await;
        // a full queue of the system is the end of what can be held
        let Ok(Ok(mut stream)) = opened else { break };
        if stream.write_all(bytes).await.is_err() {
            break;
        }
        held.push(stream);
    }
    held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f41_connections_beyond_the_files_wait_and_the_admin_side_answers() {
    let files = 2_000;
    let stage = Stage::with_files(files, |config| {
        config.sections = UPSTREAM.to_owned();
        config.listen = "header_timeout = \"60s\"".to_owned();
    })
    .await;
    let most = (files - 320) / 2;
    // the rest waits in the system's queue, which holds a thousand, and before it
    let held = hold(&stage, most + 600, b"GET / HTTP/1.1\r\n").await;
    assert!(held.len() > most, "only {} could be opened", held.len());
    let mut queued = JoinSet::new();
    for _ in held.len()..stage.scale.clients(3_000) {
        let to = stage.address();
        queued.spawn(async move {
            let opened = TcpStream::connect(to).await;
            // it keeps what it got
            std::future::pending::<()>().await;
            drop(opened);
        });
    }
    sleep(Duration::from_secs(1)).await;

    let process = stage.process();
    let (cpu, since) = (process.cpu(), Instant::now());
    for _ in 0..10 {
        let asked = timeout(ADMIN, stage.sum("affinity_connections_open", &[])).await;
        let open = asked.expect("the admin side answers in time");
        assert_eq!(open, most as f64, "more or fewer than there are files for");
        sleep(Duration::from_millis(200)).await;
    }
    let busy = (process.cpu() - cpu).as_secs_f64() / since.elapsed().as_secs_f64();
    assert!(
        busy < 0.5,
        "busy for {busy:.2} of the time with nothing to do"
    );
    assert!(process.open_files() < files, "all files are taken");

    let all = held.len() + queued.len();
    queued.shutdown().await;
    drop(held);
    let gone = Instant::now();
    let load = stage.sessions().await;
    let recovered = gone.elapsed();
    tell(&format!(
        "F41: {most} of {all} held, busy {busy:.3}, served again after {recovered:.1?}"
    ));
    assert_eq!(load.shots().faults(), Default::default());
    assert!(recovered < Duration::from_secs(5), "after {recovered:?}");
    let log = process.log();
    assert!(log.contains("max_connections is lowered"), "{log}");
    assert!(log.contains("no more connections are accepted"), "{log}");
    assert!(!log.contains("cannot accept"), "files ran out: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f42_slow_clients_harm_nobody_else() {
    let stage = Stage::configured(crate::stage::Between::Nothing, |config| {
        config.sections = UPSTREAM.to_owned();
        config.listen = "header_timeout = \"3s\"\nbody_timeout = \"3s\"".to_owned();
    })
    .await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let begun = Instant::now();
    sleep(stage.scale.phase(1.5)).await;
    let attacked = Instant::now();
    let each = stage.scale.clients(5_000) / 2;
    let mut held = hold(&stage, each, b"GET / HTTP/1.1\r\nhost: a\r\nx: ").await;
    let bodies = b"POST /step HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n1";
    held.extend(hold(&stage, each, bodies).await);
    assert_eq!(held.len(), 2 * each, "not all could be opened");
    let known = Instant::now();
    sleep(Duration::from_secs(2)).await;
    let shots_until = Instant::now();
    // each of them is told or left within the time that it has
    let mut ends = JoinSet::new();
    for mut stream in held {
        ends.spawn(async move {
            let mut rest = Vec::new();
            // a reset is an end as well
            let end = timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
            assert!(end.is_ok(), "a slow client is still there");
        });
    }
    while let Some(end) = ends.join_next().await {
        end.expect("it is left");
    }
    let shots = running.stop().await;
    let joined = stage.join("F42", &shots);
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "good clients were harmed"
    );
    let (before, during) = (
        shots.sent(begun..attacked).quantile(0.99),
        shots.sent(known..shots_until).quantile(0.99),
    );
    tell(&format!(
        "F42: {} slow clients, p99 {before:.1?} before and {during:.1?}",
        2 * each
    ));
    assert!(
        during <= stage.scale.tolerated(before),
        "p99 was {before:?} and is {during:?}"
    );
    let ended = stage
        .sum(
            "affinity_connections_ended_total",
            &[("cause", "header_timeout")],
        )
        .await;
    assert!(ended >= each as f64, "{ended} of {each} heads timed out");
    let late = stage
        .sum(
            "affinity_limits_reached_total",
            &[("limit", "body_timeout")],
        )
        .await;
    assert_eq!(late, each as f64, "bodies that timed out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f43_streams_that_are_reset_cost_no_pod_and_little_time() {
    let stage = Stage::with_files(20_000, |config| config.sections = UPSTREAM.to_owned()).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &[Ask::get("/step")]);
    let process = stage.process();
    let (begun, idle) = (Instant::now(), process.cpu());
    sleep(stage.scale.phase(1.5)).await;
    let usual = (process.cpu() - idle).as_secs_f64() / begun.elapsed().as_secs_f64();
    let (attacked, cpu, memory) = (Instant::now(), process.cpu(), process.memory());
    let streams = stage.scale.clients(100_000);
    let head = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/reset"),
        (":authority", "a"),
    ];
    let cancel = code::CANCEL.to_be_bytes();
    let (mut opened, mut connections) = (0, 0);
    while opened < streams {
        let Ok(mut stream) = TcpStream::connect(stage.address()).await else {
            break;
        };
        connections += 1;
        let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
        let mut open = stream
            .write_all(&[PREFACE, &settings].concat())
            .await
            .is_ok();
        let mut id = 1;
        while open && opened < streams {
            let mut bytes = Vec::new();
            for _ in 0..20 {
                bytes.extend(request(id, &head));
                bytes.extend(frame(kind::RST_STREAM, flag::NONE, id, &cancel));
                id += 2;
            }
            opened += 20;
            open = stream.write_all(&bytes).await.is_ok();
        }
    }
    let until = Instant::now();
    let busy = (process.cpu() - cpu).as_secs_f64();
    let grown = process.memory().saturating_sub(memory);
    let shots = running.stop().await;
    // what the good clients cost was there before
    let wall = (until - attacked).as_secs_f64();
    let extra = (busy - usual * wall).max(0.0);
    let joined = stage.join("F43", &shots);
    let lines = stage.lines();
    let seen = lines.iter().filter(|line| line.path == "/reset").count();
    let (before, during) = (
        shots.sent(begun..attacked).quantile(0.99),
        shots.sent(attacked..until).quantile(0.99),
    );
    tell(&format!(
        "F43: {opened} streams reset on {connections} connections in {wall:.1} s, {seen} seen, \
         {busy:.2} s of CPU, {extra:.2} s more than before, {} KiB more, p99 {before:.1?} before and \
         {during:.1?}",
        grown / 1024
    ));
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "good clients were harmed"
    );
    assert!(
        seen * 100 <= opened,
        "{seen} of {opened} were seen by a pod"
    );
    // a tenth of a core at ten thousand streams a second
    let tolerated = 0.5 + opened as f64 / 100_000.0;
    assert!(
        extra < tolerated,
        "{extra:.2} s of CPU for {opened} streams"
    );
    assert!(grown < 64 * 1024 * 1024, "{grown} bytes more");
    assert!(
        during <= stage.scale.tolerated(before),
        "p99 was {before:?} and is {during:?}"
    );
}
