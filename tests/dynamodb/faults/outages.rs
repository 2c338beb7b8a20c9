//! F38 under load, through a gateway: a DynamoDB that throttles, fails, is slow, or answers nonsense.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::load::{Ask, Load, Shots, Shows};
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{Between, DynamoServer, Mood, TABLE};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// The field of an id.
const USER: &str = "x-user";

/// By when a store that is well again has to be used.
const BACK: Duration = Duration::from_secs(3);

/// What a store that is left alone may add to most requests.
const MEDIAN: Duration = Duration::from_millis(1);

/// How hard and how long a fault is run.
#[derive(Clone, Copy)]
struct Scale {
    sessions: usize,
    rate: u32,
    /// How long a request waits for the store.
    patience: Duration,
    /// How much longer the store may make an answer before it is left alone, and afterwards.
    added: [Duration; 2],
    /// How many times of its usual requests the store may get when it is back.
    herd: f64,
    longer: u32,
}

impl Scale {
    /// The short form on a machine that does other things as well, the full one if `AFFINITY_FAULTS` is `full`.
    fn of_environment() -> Self {
        let millis = Duration::from_millis;
        match std::env::var("AFFINITY_FAULTS").as_deref() {
            Err(_) | Ok("short") => Self {
                sessions: 20,
                rate: 25,
                patience: millis(500),
                added: [millis(750), millis(750)],
                herd: 2.5,
                longer: 1,
            },
            Ok("full") => Self {
                sessions: 50,
                rate: 40,
                patience: millis(20),
                added: [millis(25), millis(1)],
                herd: 1.5,
                longer: 4,
            },
            Ok(other) => panic!("AFFINITY_FAULTS is neither short nor full: {other}"),
        }
    }

    fn phase(self, seconds: u32) -> Duration {
        Duration::from_secs(seconds.into()) * self.longer
    }
}

/// A gateway over a server with something between them.
struct Stage {
    between: Between,
    fleet: Fleet,
    replica: Replica,
    _server: DynamoServer,
    _dir: Scratch,
}

impl Stage {
    async fn start(scale: Scale) -> Option<Self> {
        let server = DynamoServer::start_alone().await?;
        let between = Between::to(server.address()).await;
        let fleet = Fleet::start(&[OLD, NEW], 2).await;
        let dir = Scratch::new();
        // what no server here looks at
        std::fs::write(dir.path().join("id"), "AKIAEXAMPLE\n").unwrap();
        std::fs::write(dir.path().join("secret"), "of-no-server\n").unwrap();
        let mut config = Config::new(&fleet, &[(OLD, 50), (NEW, 50)]);
        config.sections = format!(
            "[[scope]]\npath = \"/*\"\nassign = \"header:{USER}\"\n\
             [store]\nkind = \"dynamodb\"\ntable = \"{TABLE}\"\nregion = \"eu-central-1\"\n\
             endpoint = \"{}\"\ntimeout = \"{}ms\"\n\
             access_key_id = \"file:id\"\nsecret_access_key = \"file:secret\"\n",
            between.url(),
            scale.patience.as_millis(),
        );
        let replica = Replica::start(&dir, &config).await;
        Some(Self {
            between,
            fleet,
            replica,
            _server: server,
            _dir: dir,
        })
    }

    async fn sum(&self, name: &str) -> f64 {
        self.replica.admin.samples().await.sum(name, &[])
    }

    async fn is_up(&self) -> bool {
        self.sum("affinity_store_up").await > 0.0
    }

    /// The most requests to the store a second until then, and when it was last left alone.
    async fn watch(&self, span: Duration) -> (u64, Option<Instant>) {
        let (end, mut most, mut down) = (Instant::now() + span, 0, None);
        let mut last = Vec::new();
        self.between.asked();
        while Instant::now() < end {
            sleep(Duration::from_millis(100)).await;
            last.push(self.between.asked().values().sum::<u64>());
            let second = last.iter().rev().take(10).sum();
            most = most.max(second);
            if !self.is_up().await {
                down = Some(Instant::now());
            }
        }
        (most, down)
    }

    /// Watches while the store is well: when that began, and the most requests to it a second. A
    /// machine that does other things may need some attempts for that.
    async fn steady(&self, span: Duration) -> (Instant, u64) {
        for _ in 0..5 {
            let began = Instant::now();
            if let (most, None) = self.watch(span).await {
                return (began, most);
            }
        }
        panic!("a store without faults is left alone again and again");
    }

    /// Every request was executed by the group that the gateway named.
    fn nobody_was_misplaced(&self) {
        for execution in self.fleet.ledger().entries() {
            let named = execution.field("affinity-group");
            assert_eq!(named, Some(execution.group.as_bytes()), "{execution:?}");
        }
    }
}

/// How long answers took at most, for that share of those that were asked for then.
fn quantile(all: &[&Shots], share: f64, when: &Range<Instant>) -> Duration {
    let shots = all.iter().flat_map(|shots| shots.iter());
    let shots = shots.filter(|shot| when.contains(&shot.sent));
    let mut took: Vec<_> = shots.map(|shot| shot.took).collect();
    took.sort();
    assert!(!took.is_empty(), "nobody asked then");
    let at = (took.len() as f64 * share).ceil() as usize;
    took[at.clamp(1, took.len()) - 1]
}

/// How often sessions changed their group.
fn moves(shots: &Shots) -> usize {
    let mut last: BTreeMap<usize, &str> = BTreeMap::new();
    let groups = shots
        .iter()
        .filter_map(|shot| Some((shot.session, shot.group()?)));
    let moved = groups.filter(|(session, group)| {
        let before = last.insert(*session, group);
        before.is_some_and(|before| before != *group)
    });
    moved.count()
}

/// Runs one fault and checks what holds for each: nobody sees it.
#[expect(clippy::print_stdout, reason = "a run tells what it measured")]
async fn run(name: &str, mood: impl FnOnce(Scale) -> Mood) {
    let scale = Scale::of_environment();
    let mood = mood(scale);
    let Some(stage) = Stage::start(scale).await else {
        return;
    };
    // sessions with cookies begin under other weights than those that hold afterwards: without its
    // pin one of them would probably change its group
    let (to, count) = (stage.replica.address(), scale.sessions);
    let cookies = Load::begin(to, count).await;
    let weights = json!({ OLD: 10, NEW: 90 });
    stage.replica.admin.weights(&weights).await.accepted();
    let ask = [Ask::get("/step")];
    cookies.round(1, &ask[0]).await;
    let ids = Load::begin_showing(Shows::Id(USER), to, count).await;
    let asking = [&cookies, &ids].map(|load| load.open(scale.rate, &ask));
    sleep(scale.phase(1)).await;

    let (began, steady) = stage.steady(scale.phase(2)).await;
    let errors = stage.sum("affinity_store_errors_total").await;
    let fault = Instant::now();
    stage.between.is(mood);
    let open = until("the store is left alone", async || {
        (!stage.is_up().await).then(Instant::now)
    })
    .await;
    sleep(scale.phase(3)).await;
    let over = Instant::now();
    let without = stage.sum("affinity_store_errors_total").await - errors;
    stage.between.is(Mood::Well);
    let (peak, down) = stage.watch(BACK + Duration::from_secs(1)).await;
    let recovery = down.map_or(Duration::ZERO, |last| last - over);
    let [cookies, ids] = asking;
    let (cookies, ids) = (cookies.stop().await, ids.stop().await);

    let p99 = |when| quantile(&[&cookies, &ids], 0.99, &when);
    let (before, opening, after) = (p99(began..fault), p99(fault..open), p99(open..over));
    let medians = [began..fault, open..over].map(|when| quantile(&[&cookies, &ids], 0.5, &when));
    let faults = [cookies.faults(), ids.faults()];
    let moved = [moves(&cookies), moves(&ids)];
    println!(
        "F38 {name}: {} requests, not well {faults:?}, moves {moved:?}; p99 {before:.1?} before, \
         {opening:.1?} within the {:.0?} until the store was left alone, {after:.1?} afterwards \
         (p50 {:.1?}, {:.1?}); {without} requests without the store; back after {recovery:.0?}; \
         requests to it a second at most {steady} before, {peak} when it was back",
        cookies.len() + ids.len(),
        open - fault,
        medians[0],
        medians[1],
    );
    assert!(faults.iter().all(BTreeMap::is_empty), "somebody saw it");
    assert_eq!(moved, [0, 0], "sessions with cookies and with ids");
    stage.nobody_was_misplaced();
    assert!(without > 0.0, "no request was counted as served without it");
    let [late, left] = scale.added;
    assert!(opening <= before + late, "{opening:?} after {before:?}");
    // half of it is the scatter of a p99 between two phases; the median has none. In the short form
    // the one request a second that tries the store is more than one of a hundred
    assert!(after <= before * 3 / 2 + left, "{after:?} after {before:?}");
    assert!(medians[1] <= medians[0] + MEDIAN, "{medians:?}");
    assert!(recovery <= BACK, "used again after {recovery:?}");
    assert!(stage.is_up().await, "it is well");
    let most = steady as f64 * scale.herd;
    assert!(peak as f64 <= most, "{peak} a second after {steady}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f38_a_table_that_is_throttled_is_noticed_by_nobody() {
    let exception = "ProvisionedThroughputExceededException";
    run("throttled", |_| Mood::Refuses(exception)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f38_a_server_that_fails_is_noticed_by_nobody() {
    run("500", |_| Mood::Breaks(500)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f38_a_server_that_is_slow_is_noticed_by_nobody() {
    run("slow", |scale| Mood::Slow(scale.patience * 3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f38_a_server_that_answers_nonsense_is_noticed_by_nobody() {
    run("nonsense", |_| Mood::Says("{\"Attributes\": {\"k\"")).await;
}
