//! Pods of two groups, a gateway before them, and sessions that ask it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use affinity_tests::admin::Admin;
use affinity_tests::config::Config;
use affinity_tests::dns::{Dns, Says};
use affinity_tests::joined::Joined;
use affinity_tests::load::{Ask, Load, Shots};
use affinity_tests::pod::{Line, Pod};
use affinity_tests::process::Process;
use affinity_tests::proxy::Proxy;
use affinity_tests::replica::{Replica, load};
use affinity_tests::{Scratch, until_within};

use crate::scale::Scale;

/// The stable group.
pub(crate) const OLD: &str = "9f1c2ab";
/// The other one.
pub(crate) const NEW: &str = "c3d4e5f";

/// Pods of each group.
pub(crate) const EACH: usize = 3;

/// Checks that find out fast, and timeouts that only what hangs can meet.
pub(crate) const UPSTREAM: &str = "[upstream]\nconnect_timeout = \"5s\"\n\
    response_timeout = \"20s\"\n\
    health = { path = \"/livez\", interval = \"200ms\", unhealthy_after = 2, healthy_after = 1 }\n";

/// By when a pod that hangs has cost its last timeout: a stage with [`Stage::impatient`].
pub(crate) const TIMED_OUT: Duration = Duration::from_millis(1700);

/// Everything that a fault needs.
pub(crate) struct Stage {
    pub(crate) scale: Scale,
    /// Of the old group first.
    pub(crate) pods: Vec<Pod>,
    /// One before each pod, in the same order; none if the gateway goes to the pods themselves.
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) config: Config,
    pub(crate) dir: Scratch,
    pub(crate) gateway: Running,
}

/// The gateway under test.
pub(crate) enum Running {
    /// In this process.
    Here(Box<Replica>),
    /// The real binary.
    Process(Box<Process>),
}

/// What is between the gateway and the applications.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    Nothing,
    Proxies,
    /// In each pod the layer that refuses what was meant for another group.
    Identity,
}

impl Stage {
    /// Three pods of each of two groups with equal weights, and a gateway in this process.
    pub(crate) async fn new(between: Between) -> Self {
        Self::configured(between, |config| config.sections = UPSTREAM.to_owned()).await
    }

    /// As [`Stage::new`], for faults that hang: answers have to begin within 1.5 s.
    pub(crate) async fn impatient(between: Between) -> Self {
        Self::configured(between, |config| {
            config.sections = UPSTREAM.replace("20s", "1500ms");
        })
        .await
    }

    /// As [`Stage::new`], with another configuration.
    pub(crate) async fn configured(between: Between, edit: impl FnOnce(&mut Config)) -> Self {
        let (dir, pods, proxies, mut config) = parts(between).await;
        edit(&mut config);
        let replica = Replica::start(&dir, &config).await;
        let gateway = Running::Here(Box::new(replica));
        Self::ready(dir, pods, proxies, config, gateway).await
    }

    /// As [`Stage::new`], with the real binary and its watched file.
    pub(crate) async fn with_process() -> Self {
        let (dir, pods, proxies, mut config) = parts(Between::Nothing).await;
        config.sections = UPSTREAM.to_owned();
        let process = Process::start(&config.write(&dir, "gateway.toml")).await;
        let gateway = Running::Process(Box::new(process));
        Self::ready(dir, pods, proxies, config, gateway).await
    }

    /// As [`Stage::with_process`], with the old group's endpoints in a file and those of the new
    /// one behind a name.
    pub(crate) async fn discovered(dns: &Dns) -> Self {
        let dir = Scratch::new();
        let mut pods = Vec::new();
        let mut config = Config::of([(OLD, 1, Vec::new()), (NEW, 1, Vec::new())]);
        for group in [OLD, NEW] {
            // all of one port, each at an address of its own
            let mut port = 0;
            for n in 1..=EACH {
                let address = SocketAddr::from(([127, 44, 0, n as u8], port));
                let pod = Pod::at(address, &dir, group, &format!("{group}-{n}")).await;
                port = pod.address().port();
                pods.push(pod);
            }
        }
        let port = pods[EACH].address().port();
        config.group(OLD).source = Some("endpoints_file = \"old.endpoints\"".to_owned());
        config.group(NEW).source = Some(format!("dns = \"new.shop.test:{port}\""));
        let servers = format!("dns = {{ servers = [\"{}\"] }}\n", dns.address());
        config.sections = UPSTREAM.to_owned() + &servers;
        dir.write("old.endpoints", lines(&pods[..EACH]));
        dns.say(Says::Addresses(addresses(&pods[EACH..])));
        let process = Process::start(&config.write(&dir, "gateway.toml")).await;
        let gateway = Running::Process(Box::new(process));
        Self::ready(dir, pods, Vec::new(), config, gateway).await
    }

    /// Writes the file of the old group's endpoints.
    pub(crate) fn file(&self, count: usize) {
        self.dir.write("old.endpoints", lines(&self.pods[..count]));
    }

    /// What a name server says of the new group's endpoints.
    pub(crate) fn names(&self, count: usize) -> Says {
        Says::Addresses(addresses(&self.pods[EACH..EACH + count]))
    }

    /// As [`Stage::with_process`], with so many files that it may open and another configuration.
    pub(crate) async fn with_files(files: usize, edit: impl FnOnce(&mut Config)) -> Self {
        let (dir, pods, proxies, mut config) = parts(Between::Nothing).await;
        edit(&mut config);
        let file = config.write(&dir, "gateway.toml");
        let process = Process::start_with_files(&file, files).await;
        let gateway = Running::Process(Box::new(process));
        Self::ready(dir, pods, proxies, config, gateway).await
    }

    async fn ready(
        dir: Scratch,
        pods: Vec<Pod>,
        proxies: Vec<Proxy>,
        config: Config,
        gateway: Running,
    ) -> Self {
        let stage = Self {
            scale: Scale::of_environment(),
            pods,
            proxies,
            config,
            dir,
            gateway,
        };
        stage.until_ready(OLD, EACH).await;
        stage.until_ready(NEW, EACH).await;
        stage
    }

    /// Where clients are served.
    pub(crate) fn address(&self) -> SocketAddr {
        match &self.gateway {
            Running::Here(replica) => replica.address(),
            Running::Process(process) => process.address(),
        }
    }

    /// The gateway's process.
    ///
    /// # Panics
    ///
    /// If it runs in this one.
    pub(crate) fn process(&self) -> &Process {
        match &self.gateway {
            Running::Here(_) => panic!("the gateway runs here"),
            Running::Process(process) => process,
        }
    }

    /// The admin side.
    pub(crate) fn admin(&self) -> &Admin {
        match &self.gateway {
            Running::Here(replica) => &replica.admin,
            Running::Process(process) => process.admin(),
        }
    }

    /// Begins the sessions of the run.
    pub(crate) async fn sessions(&self) -> Load {
        Load::begin(self.address(), self.scale.sessions).await
    }

    /// The place of the first pod of the new group.
    pub(crate) fn victim(&self) -> usize {
        EACH
    }

    /// The places of the new group's pods.
    pub(crate) fn new_group(&self) -> std::ops::Range<usize> {
        EACH..2 * EACH
    }

    /// Joins what clients saw with what the pods wrote, and fails if that is not sound. What was
    /// counted is printed, for runs with `--nocapture`.
    #[expect(clippy::print_stdout, reason = "a run tells what it measured")]
    pub(crate) fn join(&self, fault: &str, shots: &Shots) -> Joined {
        let joined = Joined::of(shots, &self.lines());
        println!(
            "{fault}: {} requests, {} attempts, {} moves, not well {:?}, p50 {:.1?}, p99 {:.1?}",
            joined.requests,
            joined.attempts,
            joined.moved(),
            shots.faults(),
            shots.quantile(0.5),
            shots.quantile(0.99),
        );
        joined.is_sound();
        joined
    }

    /// All lines of all ledgers.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.pods.iter().flat_map(Pod::ledger).collect()
    }

    /// Waits until so many endpoints of a group are ready; answers how long that took.
    pub(crate) async fn until_ready(&self, group: &str, count: usize) -> Duration {
        let since = tokio::time::Instant::now();
        let what = format!("{count} ready endpoints of {group}");
        until_within(affinity_tests::BOUND, &what, async || {
            let group = self.admin().group(group).await;
            let endpoints = group["endpoints"].as_array().unwrap();
            let ready = endpoints
                .iter()
                .filter(|endpoint| endpoint["state"] == "ready");
            (ready.count() == count).then_some(())
        })
        .await;
        since.elapsed()
    }

    /// Tells a gateway in this process of an edited configuration.
    pub(crate) fn reload(&self) {
        let Running::Here(replica) = &self.gateway else {
            panic!("a process reads its file itself");
        };
        let settings = load(&self.config.write(&self.dir, "gateway.toml"));
        let changed = replica.gateway.reload(settings);
        changed.unwrap_or_else(|e| panic!("the edit is refused: {e}"));
    }

    /// A sum in the gateway's metrics.
    pub(crate) async fn sum(&self, metric: &str, labels: &[(&str, &str)]) -> f64 {
        self.admin().samples().await.sum(metric, labels)
    }
}

fn lines(pods: &[Pod]) -> String {
    let lines = pods.iter().map(|pod| format!("{}\n", pod.address()));
    lines.collect()
}

fn addresses(pods: &[Pod]) -> Vec<Ipv4Addr> {
    let addresses = pods.iter().map(|pod| match pod.address().ip() {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => panic!("{address} is not of a pod"),
    });
    addresses.collect()
}

async fn parts(between: Between) -> (Scratch, Vec<Pod>, Vec<Proxy>, Config) {
    let dir = Scratch::new();
    let (mut pods, mut proxies) = (Vec::new(), Vec::new());
    for group in [OLD, NEW] {
        for n in 1..=EACH {
            let name = format!("{group}-{n}");
            let pod = match between {
                Between::Identity => Pod::with_identity(&dir, group, &name).await,
                Between::Nothing | Between::Proxies => Pod::start(&dir, group, &name).await,
            };
            if between == Between::Proxies {
                proxies.push(Proxy::to(pod.address()).await);
            }
            pods.push(pod);
        }
    }
    let at = |n: usize| match proxies.get(n) {
        Some(proxy) => proxy.address(),
        None => pods[n].address(),
    };
    let groups = [
        (OLD, 1, (0..EACH).map(at).collect()),
        (NEW, 1, (EACH..2 * EACH).map(at).collect()),
    ];
    let config = Config::of(groups);
    (dir, pods, proxies, config)
}

/// Four reads and a write.
pub(crate) fn mixed() -> Vec<Ask> {
    let mut asks = vec![Ask::get("/step"); 4];
    asks.push(Ask::post("/step", 600));
    asks
}
