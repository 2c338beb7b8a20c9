#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use tower_affinity::balance::Groups;
use tower_affinity::core::{Clock, GroupName, Timestamp};
use tower_affinity_testing::HandClock;

use super::file::parse;
use super::follow::{Feed, One};
use super::list::usable;
use crate::config::{self, Settings};
use crate::control::{Control, Failure};
use crate::metrics::Metrics;

mod families;
mod feeds;

const OWN: [&str; 2] = ["127.0.0.1:8080", "0.0.0.0:9090"];

fn own() -> [SocketAddr; 2] {
    OWN.map(|own| own.parse().unwrap())
}

fn list(addresses: &[&str]) -> Vec<SocketAddr> {
    addresses.iter().map(|a| a.parse().unwrap()).collect()
}

/// A gateway's control plane whose groups are found in files.
struct Stage {
    control: Control,
    clock: HandClock,
    metrics: Metrics,
    dir: TempDir,
    settings: Settings,
}

impl Stage {
    fn new() -> Self {
        Self::with(
            "[[group]]\nname = \"aaa\"\nweight = 1\nstable = true\nendpoints_file = \"aaa\"\n\
             [[group]]\nname = \"bbb\"\nendpoints_file = \"bbb\"\n",
        )
    }

    fn with(groups: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = HandClock::at(Timestamp::from_secs(1_800_000_000));
        let settings = settings_of(groups, &dir);
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let started = Control::start(&settings, Groups::new(clock.clone()), shared).unwrap();
        Self {
            control: started.control,
            clock,
            metrics: Metrics::new().unwrap(),
            dir,
            settings,
        }
    }

    /// The source of a group, as it is followed.
    fn source(&self, group: &str) -> (One, Feed) {
        let name: GroupName = group.parse().unwrap();
        let mut groups = self.settings.groups.iter();
        let setting = groups.find(|setting| setting.name == name).unwrap();
        let source = setting.discovery.clone().unwrap();
        let sources = self.control.sources();
        sources.begin(&name, &source, self.control.now());
        let feed = Feed::new(&source, &[]);
        let one = One {
            control: self.control.clone(),
            series: self.metrics.discovery().clone(),
            group: name,
            source,
            own: own(),
        };
        (one, feed)
    }

    fn file(&self, group: &str) -> PathBuf {
        self.dir.path().join(group)
    }

    fn endpoints(&self, group: &str) -> Vec<SocketAddr> {
        let endpoints = self.control.groups().endpoints(&group.parse().unwrap());
        endpoints.iter().map(|e| e.address()).collect()
    }

    fn metric(&self, sample: &str) -> Option<String> {
        let text = (self.metrics.renderer(&self.control, None))();
        let line = text.lines().find(|line| line.starts_with(sample));
        line.map(|line| line[sample.len()..].trim().to_owned())
    }
}

fn settings_of(groups: &str, dir: &TempDir) -> Settings {
    let secret = |_: &str| Some("q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE".to_owned());
    let head = "service = \"checkout\"\n[pin]\nkeys = [\"k1:env:K1\"]\n";
    config::parse(&format!("{head}{groups}"), dir.path(), &secret).expect("the settings are right")
}

#[test]
fn a_file_is_read_as_a_whole_or_not_at_all() {
    let right = "# the pods\n\n10.0.0.7:8080\n  [fd00::8]:8080  \r\n";
    assert_eq!(
        parse(right.as_bytes()),
        Ok(list(&["10.0.0.7:8080", "[fd00::8]:8080"]))
    );
    assert_eq!(parse(b""), Ok(Vec::new()));
    assert_eq!(parse(b"# nobody\n"), Ok(Vec::new()));
    for (wrong, why) in [
        ("10.0.0.7:8080", "no end"),
        ("10.0.0.7:8080\n10.0.0.8:80", "no end"),
        ("10.0.0.7:8080\nlocalhost:80\n", "line 2"),
        ("10.0.0.7\n", "line 1"),
        ("10.0.0.7:8080,10.0.0.8:80\n", "line 1"),
    ] {
        let trouble = parse(wrong.as_bytes()).expect_err(wrong);
        assert_eq!(trouble.failure, Failure::Invalid, "{wrong}");
        assert!(trouble.why.contains(why), "{wrong}: {}", trouble.why);
    }
    assert!(parse(b"\xff\xfe\n").is_err(), "not UTF-8");
    let long = "#\n".repeat(600_000);
    assert!(parse(long.as_bytes()).is_err(), "longer than 1 MiB");
}

#[test]
fn a_list_with_an_address_of_no_endpoint_is_refused() {
    let usable = |addresses: &[&str]| usable(list(addresses), &own()).map_err(|t| t.failure);
    assert_eq!(
        usable(&["10.0.0.8:80", "10.0.0.7:80", "[::ffff:10.0.0.8]:80"]),
        Ok(list(&["10.0.0.7:80", "10.0.0.8:80"])),
        "in order, each place once"
    );
    assert_eq!(usable(&[]), Err(Failure::Empty));
    for wrong in [
        "0.0.0.0:80",
        "10.0.0.7:0",
        "224.0.0.1:80",
        "127.0.0.1:8080",
        "127.0.0.1:9090",
    ] {
        let found = usable(&["10.0.0.7:80", wrong]);
        assert_eq!(found, Err(Failure::Invalid), "{wrong}");
    }
    let many = (0..10_001_u32).map(|n| SocketAddr::from((n.to_be_bytes(), 80)));
    let many = many.map(|mut a| {
        a.set_ip(std::net::Ipv6Addr::from(u128::from(a.port()) << 64 | ip(a)).into());
        a
    });
    let found = super::list::usable(many.collect(), &own()).map_err(|t| t.failure);
    assert_eq!(found, Err(Failure::Invalid), "more than 10,000");
}

fn ip(address: SocketAddr) -> u128 {
    match address.ip() {
        std::net::IpAddr::V4(ip) => u128::from(ip.to_bits()) | 0xfd00 << 112,
        std::net::IpAddr::V6(ip) => ip.to_bits(),
    }
}

#[tokio::test]
async fn an_address_stays_with_its_group_until_that_gives_it_up() {
    let stage = Stage::new();
    let ((old, mut old_feed), (new, mut new_feed)) = (stage.source("aaa"), stage.source("bbb"));
    fs::write(stage.file("aaa"), "10.0.0.1:80\n10.0.0.2:80\n").unwrap();
    fs::write(stage.file("bbb"), "10.0.0.2:80\n10.0.0.3:80\n").unwrap();
    assert_eq!(old.take(old_feed.find().await).await, None);
    let failure = new.take(new_feed.find().await).await;
    assert_eq!(failure, Some(Failure::Taken));
    assert_eq!(stage.endpoints("bbb"), list(&["10.0.0.3:80"]));
    let taken = "affinity_discovery_failures_total{group=\"bbb\",kind=\"taken\"}";
    assert_eq!(stage.metric(taken).as_deref(), Some("1"));

    fs::write(stage.file("aaa"), "10.0.0.1:80\n").unwrap();
    assert_eq!(old.take(old_feed.find().await).await, None);
    assert_eq!(new.take(new_feed.find().await).await, None);
    assert_eq!(
        stage.endpoints("bbb"),
        list(&["10.0.0.2:80", "10.0.0.3:80"])
    );
}

#[tokio::test]
async fn what_is_held_shows_its_age_until_it_is_released() {
    let stage = Stage::new();
    let (one, mut feed) = stage.source("aaa");
    let stale = || stage.metric("affinity_discovery_stale_seconds{group=\"aaa\"}");
    assert_eq!(stage.control.undiscovered().len(), 1, "nothing is known");
    assert_eq!(one.take(feed.find().await).await, Some(Failure::Error));
    assert_eq!(stage.control.undiscovered().len(), 1, "there is no file");

    fs::write(stage.file("aaa"), "10.0.0.1:80\n").unwrap();
    assert_eq!(one.take(feed.find().await).await, None);
    assert!(stage.control.undiscovered().is_empty(), "it has answered");
    assert_eq!(stale().as_deref(), Some("0"));

    for (text, failure) in [("", Failure::Empty), ("10.0.0.2:80", Failure::Invalid)] {
        fs::write(stage.file("aaa"), text).unwrap();
        stage.clock.advance(std::time::Duration::from_secs(30));
        assert_eq!(one.take(feed.find().await).await, Some(failure));
        assert_eq!(stage.endpoints("aaa"), list(&["10.0.0.1:80"]), "{text:?}");
    }
    assert_eq!(stale().as_deref(), Some("60"));

    fs::write(stage.file("aaa"), "10.0.0.2:80\n").unwrap();
    assert_eq!(one.take(feed.find().await).await, None);
    assert_eq!(stage.endpoints("aaa"), list(&["10.0.0.2:80"]));
    assert_eq!(stale().as_deref(), Some("0"));
}

#[tokio::test]
async fn a_restart_begins_with_the_last_good_list() {
    let stage = Stage::new();
    let (one, mut feed) = stage.source("aaa");
    fs::write(stage.file("aaa"), "10.0.0.1:80\n").unwrap();
    assert_eq!(one.take(feed.find().await).await, None);
    let groups = Groups::new(stage.clock.clone());
    let shared: Arc<dyn Clock> = Arc::new(stage.clock.clone());
    let again = Control::start(&stage.settings, groups, shared).unwrap();
    let endpoints = again.control.groups().endpoints(&"aaa".parse().unwrap());
    assert_eq!(endpoints.len(), 1, "the list was lost");
    // an unrelated edit does not lose it either
    again.control.apply(&stage.settings).unwrap();
    let endpoints = again.control.groups().endpoints(&"aaa".parse().unwrap());
    assert_eq!(endpoints.len(), 1, "an edit lost the list");
}

/// A text changed in one to three places, by chance and by what editors and disks do.
fn mutated(text: &str, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.usize(1..=3) {
        let at = random.usize(..=bytes.len());
        match random.u8(..6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.u8(..)),
            2 => bytes.insert(at, *b"0123456789.:[]\n# -".get(random.usize(..18)).unwrap()),
            3 if at < bytes.len() => {
                bytes.remove(at);
            }
            4 if at < bytes.len() => bytes[at] = random.u8(b'0'..=b'9'),
            5 => bytes.extend_from_within(..at),
            _ => bytes.clear(),
        }
    }
    bytes
}

#[tokio::test]
async fn ten_thousand_mutated_files_apply_a_whole_list_or_nothing() {
    let stage = Stage::new();
    let (one, mut feed) = stage.source("aaa");
    let base = "# pods of aaa\n10.0.0.1:8080\n10.0.0.2:8080\n[fd00::8]:8080\n";
    let mut random = fastrand::Rng::with_seed(17);
    let (mut applied, mut held) = (0, 0);
    for n in 0..10_000 {
        let before = stage.endpoints("aaa");
        let bytes = mutated(base, &mut random);
        fs::write(stage.file("aaa"), &bytes).unwrap();
        let failure = one.take(feed.find().await).await;
        let after = stage.endpoints("aaa");
        let shown = String::from_utf8_lossy(&bytes);
        match failure {
            Some(_) => {
                held += 1;
                assert_eq!(
                    after, before,
                    "mutation {n} was refused and applied: {shown}"
                );
            }
            None => {
                applied += 1;
                let lines = shown.lines().map(str::trim);
                let mut named: Vec<SocketAddr> = lines
                    .filter(|line| !line.is_empty() && !line.starts_with('#'))
                    .map(|line| line.parse().expect("every line of what counts is right"))
                    .collect();
                named.sort_unstable();
                named.dedup();
                assert_eq!(after, named, "mutation {n} was applied in part: {shown}");
            }
        }
    }
    assert!(applied > 500, "only {applied} were applied");
    assert!(held > 500, "only {held} were held back");
    let revision = stage.control.rollouts().current().revision();
    assert_eq!(revision.0, 1_800_000_000, "the rollout was changed");
}
