//! TLS at the gateway: what clients see, how certificates and ticket keys are replaced.

use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::jar::{Jar, Keeps};
use affinity_tests::process::{Process, run};
use affinity_tests::tls::{Pair, TlsClient};
use affinity_tests::{Scratch, until};
use http::Version;
use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";
const FIRST: &str = "m3Vd9sQx0LkT7aYbPzR2uWc5eHnJf8GiKo1CwXqZy4A";
const SECOND: &str = "Zt6Rk1Nw8pQe3Lm0XcVb5Ya9Sg2Df7HjUo4Ii6TqBx8";

/// A gateway that ends TLS with the pair in its directory.
async fn start(fleet: &Fleet, dir: &Scratch, tickets: &[&str]) -> Process {
    Process::start(&config(fleet, tickets).write(dir, "gateway.toml")).await
}

fn config(fleet: &Fleet, tickets: &[&str]) -> Config {
    let mut config = Config::new(fleet, &[(OLD, 1), (NEW, 1)]);
    let tickets: Vec<_> = tickets.iter().map(|name| format!("\"{name}\"")).collect();
    config.listen = format!(
        "tls = {{ cert = \"cert.pem\", key = \"key.pem\", ticket_keys = [{}] }}",
        tickets.join(", ")
    );
    config
}

async fn handshakes(process: &Process, kind: &str) -> f64 {
    let samples = process.admin().samples().await;
    samples.sum("affinity_tls_handshakes_total", &[("kind", kind)])
}

#[tokio::test]
async fn sessions_stick_over_tls_on_http_1_and_http_2() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let (dir, pair) = (Scratch::new(), Pair::until_the_end_of(2099));
    pair.write(&dir);
    let process = start(&fleet, &dir, &[]).await;
    for (alpn, version) in [("h2", Version::HTTP_2), ("http/1.1", Version::HTTP_11)] {
        let client = TlsClient::new(&[&pair], &[alpn]);
        let mut jar = Jar::new(Keeps::LastArrival);
        let mut group = None;
        for request in 0..10 {
            let mut connection = client.connect(process.address()).await;
            let cookie = jar.header().unwrap_or_default();
            let mut fields = vec![("x-forwarded-proto", "gopher")];
            if request > 0 {
                fields.push(("cookie", &cookie));
            }
            let answer = connection.get("/step", &fields).await;
            assert_eq!(answer.version(), version);
            for line in answer.headers().get_all("set-cookie") {
                let line = line.to_str().unwrap();
                assert!(line.contains("Secure"), "{line}");
                jar.take(line);
            }
            assert!(jar.value(COOKIE).is_some(), "no cookie: {answer:?}");
            let served = answer.headers()["x-group"].clone();
            assert_eq!(*group.get_or_insert(served.clone()), served, "{alpn}");
        }
    }
    for execution in fleet.ledger().entries() {
        assert_eq!(execution.field("x-forwarded-proto"), Some(&b"https"[..]));
        assert_eq!(execution.field("x-forwarded-host"), Some(&b"localhost"[..]));
    }
    // the first connection of each client, and those after it
    assert_eq!(handshakes(&process, "full").await, 2.0);
    assert_eq!(handshakes(&process, "resumed").await, 18.0);
}

#[tokio::test]
async fn the_ready_line_names_the_scheme_and_the_log_a_key_that_everybody_can_read() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let (dir, pair) = (Scratch::new(), Pair::until_the_end_of(2099));
    pair.write(&dir);
    let key = dir.path().join("key.pem");
    for (mode, warned) in [(0o600, false), (0o644, true)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&key, mode).unwrap();
        let process = start(&fleet, &dir, &[]).await;
        assert_eq!(process.url(), format!("https://{}", process.address()));
        process.terminate().await;
        let (code, log) = process.end().await;
        assert_eq!(code, 0, "{log}");
        assert_eq!(log.contains("everybody on this machine"), warned, "{log}");
    }
}

#[tokio::test]
async fn a_pair_that_does_not_fit_ends_the_start_with_2() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let (dir, pair) = (Scratch::new(), Pair::until_the_end_of(2099));
    pair.write(&dir);
    dir.write("key.pem", Pair::until_the_end_of(2099).key);
    let file = config(&fleet, &[]).write(&dir, "gateway.toml");
    for verb in ["run", "check"] {
        let ended = run(&[verb, "--config", file.to_str().unwrap()], &[]).await;
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        for told in ["listen.tls.key", "key.pem", "not the key of", "accepted"] {
            assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
        }
    }
}

#[tokio::test]
async fn a_replaced_certificate_is_seen_by_new_handshakes_only() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let (dir, before) = (Scratch::new(), Pair::until_the_end_of(2098));
    let after = Pair::until_the_end_of(2099);
    before.write(&dir);
    let process = start(&fleet, &dir, &[]).await;
    let ends = async || {
        let samples = process.admin().samples().await;
        samples.sum("affinity_certificate_not_after_seconds", &[])
    };
    // 2099-01-01T00:00:00Z
    assert_eq!(ends().await, 4_070_908_800.0);
    let believing = || TlsClient::new(&[&before, &after], &["http/1.1"]);
    let mut open = believing().connect(process.address()).await;
    assert!(before.was_shown(&open));

    // the first half alone fits to nothing
    dir.write("cert.pem", &after.certificate);
    let rejected = async || {
        let samples = process.admin().samples().await;
        samples.sum("affinity_config_rejected_total", &[])
    };
    until("the half pair is rejected", async || {
        (rejected().await == 1.0).then_some(())
    })
    .await;
    let told = process.log();
    assert!(told.contains("not the key of the certificate"), "{told}");
    let meanwhile = believing().connect(process.address()).await;
    assert!(before.was_shown(&meanwhile), "half a pair was taken");

    dir.write("key.pem", &after.key);
    until("the new certificate", async || {
        let connection = believing().connect(process.address()).await;
        after.was_shown(&connection).then_some(())
    })
    .await;
    assert_eq!(ends().await, 4_102_444_800.0);
    assert_eq!(rejected().await, 1.0, "a good pair was rejected");
    assert_eq!(
        open.get("/", &[]).await.status(),
        200,
        "a connection was cut"
    );
}

/// How many of `clients` resume their session at `to`; each of them sends a request.
async fn resumed(clients: &[TlsClient], to: &Process) -> usize {
    let mut resumed = 0;
    for client in clients {
        let mut connection = client.connect(to.address()).await;
        resumed += usize::from(connection.handshake == HandshakeKind::Resumed);
        assert_eq!(connection.get("/", &[]).await.status(), 200);
    }
    resumed
}

/// As many clients of both versions of TLS, half each.
fn clients(pair: &Pair) -> Vec<TlsClient> {
    let version = |at| if at % 2 == 0 { &TLS12 } else { &TLS13 };
    (0..CLIENTS)
        .map(|at| TlsClient::speaking(&[version(at)], &[pair], &["http/1.1"]))
        .collect()
}

const CLIENTS: usize = 50;

#[tokio::test]
async fn replicas_with_shared_ticket_keys_resume_each_others_sessions() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let pair = Pair::until_the_end_of(2099);
    let replica = async |tickets: &[&str]| {
        let dir = Scratch::new();
        pair.write(&dir);
        dir.write("first", FIRST);
        dir.write("second", SECOND);
        let process = start(&fleet, &dir, tickets).await;
        (process, dir)
    };
    let clients = clients(&pair);
    let one = replica(&["file:first"]).await;
    assert_eq!(resumed(&clients, &one.0).await, 0, "nobody had a ticket");
    one.0.terminate().await;
    one.0.end().await;

    let two = replica(&["file:first"]).await;
    let shared = resumed(&clients, &two.0).await;
    println!("with shared keys: {shared} of {CLIENTS} resumed at a new process");
    assert!(
        shared * 100 >= CLIENTS * 95,
        "{shared} of {CLIENTS} resumed"
    );
    assert_eq!(handshakes(&two.0, "resumed").await, shared as f64);

    let rotating = replica(&["file:second", "file:first"]).await;
    let read = resumed(&clients, &rotating.0).await;
    assert!(read * 100 >= CLIENTS * 95, "{read} of {CLIENTS} resumed");
    let rotated = replica(&["file:second"]).await;
    let fresh = resumed(&clients, &rotated.0).await;
    assert!(fresh * 100 >= CLIENTS * 95, "{fresh} got a fresh ticket");

    let strange = replica(&["file:first"]).await;
    assert_eq!(
        resumed(&clients, &strange.0).await,
        0,
        "by a key that is gone"
    );
    assert_eq!(handshakes(&strange.0, "failed").await, 0.0);
}

#[tokio::test]
async fn replicas_without_shared_ticket_keys_shake_hands_in_full() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let (pair, dirs) = (
        Pair::until_the_end_of(2099),
        [Scratch::new(), Scratch::new()],
    );
    let clients = clients(&pair);
    pair.write(&dirs[0]);
    pair.write(&dirs[1]);
    let one = start(&fleet, &dirs[0], &[]).await;
    assert_eq!(resumed(&clients, &one).await, 0, "nobody had a ticket");
    assert_eq!(
        resumed(&clients, &one).await,
        CLIENTS,
        "at the same process"
    );
    let two = start(&fleet, &dirs[1], &[]).await;
    let foreign = resumed(&clients, &two).await;
    println!("without shared keys: {foreign} of {CLIENTS} resumed at a new process");
    assert_eq!(foreign, 0);
    assert_eq!(handshakes(&two, "full").await, CLIENTS as f64);
    assert_eq!(handshakes(&two, "failed").await, 0.0);
}

/// A key that is being written, or was lost, costs nobody its session.
#[tokio::test]
async fn a_ticket_key_that_is_cut_empty_or_gone_leaves_those_in_force() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let (dir, pair) = (Scratch::new(), Pair::until_the_end_of(2099));
    pair.write(&dir);
    dir.write("first", FIRST);
    let process = start(&fleet, &dir, &["file:first"]).await;
    let client = [TlsClient::new(&[&pair], &["http/1.1"])];
    assert_eq!(resumed(&client, &process).await, 0);
    let rejected = async || {
        let samples = process.admin().samples().await;
        samples.sum("affinity_config_rejected_total", &[])
    };
    let held = ["", "\n", &FIRST[..FIRST.len() / 2], "A"];
    for text in held.map(Some).into_iter().chain([None]) {
        let before = rejected().await;
        match text {
            Some(text) => drop(dir.write("first", text)),
            None => std::fs::remove_file(dir.path().join("first")).unwrap(),
        }
        until("the reload to be refused", async || {
            (rejected().await > before).then_some(())
        })
        .await;
        assert_eq!(resumed(&client, &process).await, 1, "{text:?}");
    }
    assert!(!process.log().contains(&FIRST[..20]), "a key is in the log");
    dir.write("first", FIRST);
    assert_eq!(resumed(&client, &process).await, 1);
}

#[tokio::test]
async fn a_replaced_ticket_key_is_followed_like_the_certificate() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let (dir, pair) = (Scratch::new(), Pair::until_the_end_of(2099));
    pair.write(&dir);
    dir.write("first", FIRST);
    let process = start(&fleet, &dir, &["file:first"]).await;
    let client = || TlsClient::new(&[&pair], &["http/1.1"]);
    let kept = client();
    assert_eq!(resumed(std::slice::from_ref(&kept), &process).await, 0);
    assert_eq!(resumed(std::slice::from_ref(&kept), &process).await, 1);
    dir.write("first", SECOND);
    // asked with a ticket of the moment before: it is none once the key is replaced
    until("the new key", async || {
        (resumed(std::slice::from_ref(&kept), &process).await == 0).then_some(())
    })
    .await;
    assert_eq!(
        resumed(std::slice::from_ref(&kept), &process).await,
        1,
        "by the new key"
    );
}
