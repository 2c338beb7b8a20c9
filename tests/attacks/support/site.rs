//! A running gateway in front of two recorded groups, with a clock that only the test moves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use affinity_gateway::Gateway;
use affinity_tests::Scratch;
use affinity_tests::admin::Admin;
use affinity_tests::config::{COOKIE, Config, GroupBlock};
use affinity_tests::replica::{Replica, load};
use serde_json::json;
use tokio::net::TcpListener;
use tower_affinity::core::Timestamp;
use tower_affinity_testing::HandClock;

use super::{Recorder, Reply, SECRET, ask, get, talk, unpadded};

pub(crate) const A: &str = "9f1c2ab";
pub(crate) const B: &str = "c3d4e5f";

/// When every story begins.
pub(crate) fn now() -> u64 {
    1_800_000_000
}

/// A gateway of two groups, each one recorder; all new sessions go to A.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) a: Recorder,
    pub(crate) b: Recorder,
    pub(crate) clock: HandClock,
    pub(crate) dir: Scratch,
    pub(crate) config: Config,
    pub(crate) replica: Replica,
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(edit: impl FnOnce(&mut Config)) -> Self {
        let (a, b) = (Recorder::start().await, Recorder::start().await);
        let dir = Scratch::new();
        let mut config = config(&a, &b);
        edit(&mut config);
        let clock = HandClock::at(Timestamp::from_secs(now()));
        let replica = start(&dir, &config, "gateway.toml", &clock).await;
        Self {
            a,
            b,
            clock,
            dir,
            config,
            replica,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.replica.address()
    }

    pub(crate) fn admin(&self) -> &Admin {
        &self.replica.admin
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn weights(&self, a: u64, b: u64) {
        self.admin()
            .weights(&json!({ A: a, B: b }))
            .await
            .accepted();
    }

    /// A genuine pin to A.
    pub(crate) async fn pin_a(&self) -> String {
        let reply = talk(self.address(), get("")).await;
        assert_eq!(self.a.take().len(), 1, "a new session is drawn for A");
        reply.pin().expect("a first answer sets a pin")
    }

    /// A genuine pin to B; afterwards no new session goes there.
    pub(crate) async fn pin_b(&self) -> String {
        self.weights(0, 1).await;
        let reply = talk(self.address(), get("")).await;
        self.weights(1, 0).await;
        assert_eq!(self.b.take().len(), 1, "a new session is drawn for B");
        reply.pin().expect("a first answer sets a pin")
    }

    /// Sends a pin as our cookie.
    pub(crate) async fn show(&self, pin: &str) -> Reply {
        ask(self.address(), format!("{COOKIE}={pin}")).await
    }

    /// Sends what must not be taken for a pin to B, and tells the cause that was found.
    pub(crate) async fn refuses(&self, pin: &str) -> String {
        let reply = self.show(pin).await;
        let short: String = pin.chars().take(80).collect();
        assert_eq!(reply.status(), 200, "{short}: {}", reply.text());
        assert!(reply.pin().is_some(), "no fresh pin after {short}");
        assert!(self.b.take().is_empty(), "obeyed: {short}");
        let seen = self.a.take();
        assert_eq!(seen.len(), 1, "{short}");
        assert_eq!(
            seen[0].fields("cookie"),
            Vec::<Vec<u8>>::new(),
            "{short} went on"
        );
        let decision = seen[0].decision();
        let cause = decision.strip_prefix("assigned; cause=");
        cause
            .unwrap_or_else(|| panic!("{decision} for {short}"))
            .to_owned()
    }

    /// Pins rejected so far for a cause.
    pub(crate) async fn rejected(&self, cause: &str) -> f64 {
        let samples = self.admin().samples().await;
        samples.sum("affinity_pins_rejected_total", &[("cause", cause)])
    }
}

fn config(a: &Recorder, b: &Recorder) -> Config {
    let block = |name: &str, weight, endpoint: &Recorder| GroupBlock {
        name: name.to_owned(),
        weight,
        stable: weight > 0,
        more: String::new(),
        endpoints: vec![endpoint.address],
        source: None,
    };
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    Config {
        groups: vec![block(A, 1, a), block(B, 0, b)],
        address: free,
        admin: free,
        listen: String::new(),
        pin: String::new(),
        sections: String::new(),
        state: "gateway-state.json".to_owned(),
        etcd: None,
        service: "checkout".to_owned(),
    }
}

/// Starts a gateway whose key is [`SECRET`] and whose time is `clock`.
pub(crate) async fn start(
    dir: &Scratch,
    config: &Config,
    name: &str,
    clock: &HandClock,
) -> Replica {
    start_text(dir, &config.text(), name, clock).await
}

/// As [`start`], from the text of a file.
pub(crate) async fn start_text(
    dir: &Scratch,
    text: &str,
    name: &str,
    clock: &HandClock,
) -> Replica {
    let file = dir.write(name, text);
    dir.write("key", unpadded(SECRET));
    let settings = load(&file);
    let token = settings.listen.admin_token_file.clone();
    let gateway = Gateway::start_with_clock(settings, Arc::new(clock.clone())).await;
    let gateway = gateway.unwrap_or_else(|e| panic!("the gateway does not start: {e}"));
    let admin = Admin::new(gateway.admin(), &token);
    Replica {
        gateway,
        admin,
        file,
    }
}

/// A listener that nothing has a reason to dial.
#[derive(Debug)]
pub(crate) struct Decoy {
    pub(crate) address: SocketAddr,
    dialled: Arc<AtomicUsize>,
}

impl Decoy {
    pub(crate) async fn at(host: &str) -> Self {
        let listener = TcpListener::bind((host, 0))
            .await
            .expect("a decoy can listen");
        let address = listener.local_addr().expect("a listener has an address");
        let dialled = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&dialled);
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { address, dialled }
    }

    /// Connections so far; one of ours is made and taken off, so that none is still on its way.
    pub(crate) async fn dialled(&self) -> usize {
        let before = self.dialled.load(Ordering::SeqCst);
        drop(
            tokio::net::TcpStream::connect(self.address)
                .await
                .expect("the decoy listens"),
        );
        affinity_tests::until("the decoy's own connection", async || {
            (self.dialled.load(Ordering::SeqCst) > before).then_some(())
        })
        .await;
        self.dialled.load(Ordering::SeqCst) - 1
    }
}
