//! A gateway over a Redis behind a proxy, and sessions of three kinds.

use std::time::Duration;

use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::load::{Ask, Load, Running, Shots, Shows};
use affinity_tests::proxy::Proxy;
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use serde_json::json;
use tokio::time::Instant;

use crate::support::RedisServer;

/// The stable group.
pub(crate) const OLD: &str = "9f1c2ab";
/// The other one.
pub(crate) const NEW: &str = "c3d4e5f";

/// How long a request waits for a store in tests that measure no time.
pub(crate) const PATIENT: Duration = Duration::from_millis(150);

/// The field of an id.
pub(crate) const USER: &str = "x-user";

const UP: &str = "affinity_store_up";

/// How hard and how long a fault is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Sessions of each kind.
    pub(crate) sessions: usize,
    /// Requests a second of sessions with cookies, and as many of those with ids.
    pub(crate) rate: u32,
    longer: u32,
}

impl Scale {
    /// The short form in a test run, the full one if `AFFINITY_FAULTS` is `full`.
    pub(crate) fn of_environment() -> Self {
        match std::env::var("AFFINITY_FAULTS").as_deref() {
            Err(_) | Ok("short") => Self {
                sessions: 20,
                rate: 30,
                longer: 1,
            },
            Ok("full") => Self {
                sessions: 200,
                rate: 75,
                longer: 4,
            },
            Ok(other) => panic!("AFFINITY_FAULTS is neither short nor full: {other}"),
        }
    }

    /// Whether it is the long form.
    pub(crate) fn is_full(self) -> bool {
        self.longer > 1
    }

    /// How long a request waits for the store: the default, unless other tests share the machine.
    fn patience(self) -> Duration {
        Duration::from_millis(if self.is_full() { 20 } else { 80 })
    }

    /// A phase that takes `seconds` in the short form.
    pub(crate) fn phase(self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds) * self.longer
    }
}

/// One gateway, its Redis, the proxy between them and the endpoints of two groups.
pub(crate) struct Stage {
    pub(crate) scale: Scale,
    pub(crate) server: RedisServer,
    pub(crate) proxy: Proxy,
    pub(crate) fleet: Fleet,
    pub(crate) replica: Replica,
    _dir: Scratch,
}

impl Stage {
    /// `None` if this machine has no Redis. `proxied` is whether the gateway goes through the proxy.
    pub(crate) async fn start(proxied: bool) -> Option<Self> {
        let server = RedisServer::start(&[]).await?;
        let proxy = Proxy::to(server.address()).await;
        let fleet = Fleet::start(&[OLD, NEW], 2).await;
        let dir = Scratch::new();
        let mut config = Config::new(&fleet, &[(OLD, 50), (NEW, 50)]);
        let url = match proxied {
            true => format!("redis://{}", proxy.address()),
            false => server.url(),
        };
        let scale = Scale::of_environment();
        config.sections = sections(&url, scale.patience());
        let replica = Replica::start(&dir, &config).await;
        Some(Self {
            scale,
            server,
            proxy,
            fleet,
            replica,
            _dir: dir,
        })
    }

    /// Begins all sessions. Those with cookies begin under other weights than those that hold
    /// afterwards: without its pin one of them would probably change its group.
    pub(crate) async fn sessions(&self) -> Sessions {
        let (to, count) = (self.replica.address(), self.scale.sessions);
        let cookies = Load::begin(to, count).await;
        let weights = json!({ OLD: 10, NEW: 90 });
        self.replica.admin.weights(&weights).await.accepted();
        // each of them has its row
        cookies.round(1, &Ask::get("/step")).await;
        let ids = Load::begin_showing(Shows::Id(USER), to, count).await;
        let newcomers = Load::begin_showing(Shows::FreshId(USER), to, 1).await;
        Sessions {
            rate: self.scale.rate,
            loads: [cookies, ids, newcomers],
        }
    }

    /// Whether the gateway uses its store.
    pub(crate) async fn is_up(&self) -> bool {
        self.replica.admin.samples().await.sum(UP, &[]) > 0.0
    }

    /// How many rows the gateway knows of.
    pub(crate) async fn rows(&self) -> f64 {
        let samples = self.replica.admin.samples().await;
        samples.sum("affinity_store_sessions", &[])
    }

    /// Waits until the gateway leaves its store alone.
    pub(crate) async fn until_down(&self) -> Instant {
        until("the store is left alone", async || {
            (!self.is_up().await).then(Instant::now)
        })
        .await
    }

    /// Every request was executed by the group that the gateway named.
    pub(crate) fn nobody_was_misplaced(&self) {
        for execution in self.fleet.ledger().entries() {
            let named = execution.field("affinity-group");
            assert_eq!(named, Some(execution.group.as_bytes()), "{execution:?}");
        }
    }
}

/// What makes a gateway keep its assignments there, by the id where a request has one.
pub(crate) fn sections(url: &str, patience: Duration) -> String {
    let patience = patience.as_millis();
    format!(
        "[[scope]]\npath = \"/*\"\nassign = \"header:{USER}\"\n\
         [store]\nkind = \"redis\"\nurl = \"{url}\"\n\
         timeout = \"{patience}ms\"\n"
    )
}

/// Sessions with cookies, with ids only, and newcomers with ids, who are as many as it takes to be
/// most of all requests.
pub(crate) struct Sessions {
    rate: u32,
    loads: [Load; 3],
}

/// Sessions that ask.
pub(crate) struct Asking([Running; 3]);

/// What sessions were answered, by kind.
pub(crate) struct Answers {
    pub(crate) cookies: Shots,
    pub(crate) ids: Shots,
    pub(crate) newcomers: Shots,
}

impl Sessions {
    pub(crate) fn ask(&self) -> Asking {
        let [cookies, ids, newcomers] = &self.loads;
        let asks = [Ask::get("/step")];
        Asking([
            cookies.open(self.rate, &asks),
            ids.open(self.rate, &asks),
            newcomers.open(self.rate * 4, &asks),
        ])
    }
}

impl Asking {
    pub(crate) async fn stop(self) -> Answers {
        let [cookies, ids, newcomers] = self.0;
        Answers {
            cookies: cookies.stop().await,
            ids: ids.stop().await,
            newcomers: newcomers.stop().await,
        }
    }
}
