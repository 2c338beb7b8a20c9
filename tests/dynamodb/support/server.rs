//! [`DynamoServer`]: dynalite for one test, on loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::{Instant, sleep};

/// A dynalite that keeps everything in memory. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct DynamoServer {
    child: Child,
    address: SocketAddr,
    _room: Room,
}

/// Held by every server; by one that needs the machine to itself, without any other.
static ROOM: RwLock<()> = RwLock::const_new(());

/// How much of the machine a test takes.
#[derive(Debug)]
enum Room {
    Shared {
        _guard: RwLockReadGuard<'static, ()>,
    },
    Whole {
        _guard: RwLockWriteGuard<'static, ()>,
    },
}

/// Whether a condition that is refused tells which item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// As DynamoDB does.
    Item,
    /// As dynalite does by itself.
    Nothing,
}

/// Far above what a start takes.
const BOUND: Duration = Duration::from_secs(60);

const LOOK: Duration = Duration::from_millis(20);

impl DynamoServer {
    /// Starts one with the table of all tests; `None`, with a line that says so, if there is none on
    /// this machine.
    pub(crate) async fn start(tells: Tells) -> Option<Self> {
        let guard = ROOM.read().await;
        Self::start_in(Room::Shared { _guard: guard }, tells).await
    }

    /// As [`start`](Self::start), while no other test has one: for a test that measures how long
    /// answers take.
    pub(crate) async fn start_alone() -> Option<Self> {
        let guard = ROOM.write().await;
        Self::start_in(Room::Whole { _guard: guard }, Tells::Item).await
    }

    async fn start_in(room: Room, tells: Tells) -> Option<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        if let Some(missing) = missing(here) {
            let required = std::env::var_os("AFFINITY_REQUIRE_SERVICES").is_some();
            assert!(!required, "AFFINITY_REQUIRE_SERVICES: no {missing}");
            skipped(missing);
            return None;
        }
        let address = free();
        let mut command = Command::new("node");
        command
            .arg(here.join("server.mjs"))
            .arg(address.port().to_string())
            .args((tells == Tells::Nothing).then_some("untold"))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let child = command.spawn().expect("node can be run");
        let mut server = Self {
            child,
            address,
            _room: room,
        };
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = server.child.try_wait().expect("it can be looked at");
            assert!(ended.is_none(), "it has ended: {ended:?}");
            assert!(begin.elapsed() < BOUND, "it does not listen");
            sleep(LOOK).await;
        }
        let made = super::store(&server.url(), "x").create_table().await;
        made.expect("a table can be made");
        Some(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for DynamoServer {
    fn drop(&mut self) {
        // one that has ended already cannot be killed, which is as good
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What is not there.
fn missing(here: &Path) -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join("node").is_file()) {
        return Some("node on PATH");
    }
    let is_there = here.join("node_modules/dynalite").is_dir();
    (!is_there).then_some("dynalite (npm ci in tests/dynamodb)")
}

#[allow(clippy::print_stderr)] // a test that did not run has to be seen
fn skipped(missing: &str) {
    eprintln!("skipped: no {missing}");
}

/// A port that nobody uses now.
fn free() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("it is bound")
}
