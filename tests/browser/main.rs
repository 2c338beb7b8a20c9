//! The page of the admin side in a real browser, in front of a real gateway with traffic. Where there
//! is no Node.js, no Chromium, or no `npm ci` was run here, it is skipped.
//!
//! What the browser does and checks is in `script/`; this starts what it looks at.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod browser;
mod traffic;

use std::net::SocketAddr;

use affinity_gateway::events::Kind;
use affinity_tests::Scratch;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::replica::Replica;

use self::browser::Browser;
use self::traffic::Traffic;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";
const TWO: [(&str, u16); 2] = [(OLD, 90), (NEW, 10)];

/// What would run if the page took texts for markup.
const MARKUP: &str = "<img src=x onerror=\"window.owned=1\"><script>window.owned=1</script>";

/// A gateway under traffic with two groups, and an event that tries to get into the page.
struct Stage {
    traffic: Traffic,
    replica: Replica,
    _fleet: Fleet,
    _dir: Scratch,
}

impl Stage {
    async fn new() -> Self {
        let stage = Self::with(&TWO, |_, _| ()).await;
        let events = stage.replica.gateway.control().events().clone();
        events.warn(Kind::Config, None, &format!("rejected: {MARKUP}"));
        stage
    }

    async fn with(groups: &[(&str, u16)], edit: impl FnOnce(&mut Config, &Scratch)) -> Self {
        let names: Vec<_> = groups.iter().map(|(name, _)| *name).collect();
        let fleet = Fleet::start(&names, 2).await;
        let dir = Scratch::new();
        let mut config = Config::new(&fleet, groups);
        edit(&mut config, &dir);
        let replica = Replica::start(&dir, &config).await;
        Self {
            traffic: Traffic::begin(replica.address()),
            replica,
            _fleet: fleet,
            _dir: dir,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_sees_traffic_previews_changes_and_reads_refusals() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let stage = Stage::new().await;
    browser.run("story.mjs", &stage.replica.admin, &[]).await;
    stage.traffic.end().await;
    let rollout = stage.replica.admin.rollout().await;
    let groups = rollout["groups"].as_array().unwrap();
    let new = groups.iter().find(|group| group["name"] == NEW).unwrap();
    assert_eq!(
        new["state"], "aborted",
        "what the page has confirmed: {rollout}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_holds_for_everybody_on_every_screen() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let stage = Stage::new().await;
    browser
        .run("everybody.mjs", &stage.replica.admin, &[])
        .await;
    stage.traffic.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_while_the_gateway_is_out_of_reach_is_shown_once_it_is_back() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let stage = Stage::new().await;
    browser.run("lost.mjs", &stage.replica.admin, &[]).await;
    stage.traffic.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn off_loopback_reading_needs_the_token_too() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let stage = Stage::with(&TWO, |config, dir| {
        config.admin = SocketAddr::from(([0, 0, 0, 0], 0));
        config.listen = "admin_token_file = \"admin.token\"".to_owned();
        dir.write(
            "admin.token",
            "a-token-that-nobody-would-ever-guess-0123456789\n",
        );
    });
    let stage = stage.await;
    browser.run("far.mjs", &stage.replica.admin, &[]).await;
    stage.traffic.end().await;
}

/// Takes the pictures of the documentation: `just screenshots`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes into docs/ and takes three minutes"]
async fn screenshots() {
    let browser = Browser::find().expect("a browser");
    let three = [(OLD, 60), (NEW, 30), ("b7e2d10", 10)];
    let stage = Stage::with(&three, |_, _| ()).await;
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    browser
        .run("screenshots.mjs", &stage.replica.admin, &[("DOCS", docs)])
        .await;
    stage.traffic.end().await;
}
