//! Each verb on a file, at a time that stands still.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use serde_json::Value;
use tempfile::TempDir;
use tower_affinity::core::{AbortPolicy, Rollout, State, Timestamp};

use super::file::{self, Held};
use super::{Failure, RolloutTool};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

/// A folder with a rollout file: OLD is stable with weight 90, NEW has 10.
struct Site(TempDir);

impl Site {
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn new() -> Self {
        let site = Self::empty();
        site.run("init 9f1c2ab=90 c3d4e5f=10").unwrap();
        site
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("rollout.json")
    }

    fn at(&self, line: &str, now: Timestamp) -> Result<String, Failure> {
        let file = self.file();
        let words = ["rollout", file.to_str().unwrap()];
        let tool = RolloutTool::try_parse_from(words.into_iter().chain(line.split(' ')));
        tool.unwrap_or_else(|error| panic!("{line}: {error}"))
            .run(now)
    }

    fn run(&self, line: &str) -> Result<String, Failure> {
        self.at(line, NOW)
    }

    /// The rule's words; the file must be as it was.
    fn refused(&self, line: &str) -> String {
        let before = fs::read(self.file()).unwrap();
        let failure = self.run(line).expect_err(line);
        assert_eq!(failure.exit_code(), 4, "{line}: {failure}");
        let after = fs::read(self.file()).unwrap();
        assert_eq!(before, after, "{line} was refused and changed the file");
        failure.told(false)
    }

    fn rollout(&self) -> Rollout {
        file::read(&self.file()).unwrap()
    }

    fn state(&self, group: &str) -> State {
        let rollout = self.rollout();
        let group = rollout.group(&group.parse().unwrap());
        group.expect("the group is known").state().clone()
    }

    /// The weight of a group, and which group is stable.
    fn weight(&self, group: &str) -> u16 {
        let rollout = self.rollout();
        let group = rollout.group(&group.parse().unwrap());
        group.expect("the group is known").weight().get()
    }

    fn stable(&self) -> String {
        self.rollout().stable().to_string()
    }

    fn revision(&self) -> u64 {
        self.rollout().revision().0
    }
}

#[test]
fn the_first_group_is_stable_and_the_revision_is_above_those_of_earlier_starts() {
    let site = Site::empty();
    let said = site.run("init 9f1c2ab=90 c3d4e5f=10").unwrap();
    assert_eq!(said, "revision 1800000000\nweights 9f1c2ab=90 c3d4e5f=10");
    assert_eq!((site.stable().as_str(), site.weight(NEW)), (OLD, 10));
    let said = site.refused("init 9f1c2ab=1");
    assert!(said.contains("is there already"), "{said}");
    let none = Site::empty().run("init 9f1c2ab=0").expect_err("no weight");
    assert_eq!(none.exit_code(), 2, "{none}");
    let told = none.told(false);
    assert!(told.contains("weights of all active groups"), "{told}");
}

#[test]
fn a_table_shows_states_weights_and_shares() {
    let site = Site::new();
    site.run("register e5f6071").unwrap();
    let table = "revision 1800000001\n\
                 GROUP    STATE   WEIGHT  SHARE  NOTES\n\
                 9f1c2ab  active  90      90%    stable\n\
                 c3d4e5f  active  10      10%\n\
                 e5f6071  staged  0       -";
    assert_eq!(site.run("show").unwrap(), table);
}

#[test]
fn a_group_is_registered_staged_or_with_a_weight() {
    let site = Site::new();
    let said = site.run("register e5f6071").unwrap();
    assert!(
        said.starts_with("revision 1800000000 -> 1800000001"),
        "{said}"
    );
    assert!(said.ends_with("e5f6071 is staged"), "{said}");
    site.run("register f607182 --weight 5").unwrap();
    assert_eq!(site.state("e5f6071"), State::Staged);
    assert_eq!(
        (site.state("f607182"), site.weight("f607182")),
        (State::Active, 5)
    );
    let said = site.refused("register c3d4e5f");
    assert!(said.contains("registered already"), "{said}");
}

#[test]
fn weights_change_the_groups_that_are_named() {
    let site = Site::new();
    let said = site.run("weights c3d4e5f=30").unwrap();
    assert!(said.ends_with("weights 9f1c2ab=90 c3d4e5f=30"), "{said}");
    assert_eq!(site.revision(), 1_800_000_001);
    let same = site.run("weights c3d4e5f=30").unwrap();
    assert!(same.contains("nothing to change"), "{same}");
    assert_eq!(site.revision(), 1_800_000_001, "a revision for no change");
    let said = site.refused("weights 9f1c2ab=0 c3d4e5f=0");
    assert!(said.contains("leave one of them a weight"), "{said}");
    let twice = site.run("weights c3d4e5f=1 c3d4e5f=2").expect_err("twice");
    assert_eq!(twice.exit_code(), 2, "{twice}");
    let said = site.refused("weights unknown1=3");
    assert!(said.contains("there are: 9f1c2ab, c3d4e5f"), "{said}");
}

#[test]
fn a_promoted_group_has_all_the_weight_and_the_others_drain() {
    let site = Site::new();
    site.run("promote c3d4e5f").unwrap();
    assert_eq!((site.stable().as_str(), site.weight(NEW)), (NEW, 100));
    assert_eq!(site.state(OLD), State::Draining { since: NOW });
    // four hours of a session's life, and twice the difference of two clocks
    let drained = "until 2027-01-15T12:10:00Z";
    let shown = site.run("show").unwrap();
    assert!(shown.contains(drained), "{shown}");
}

#[test]
fn a_drained_group_gives_its_weight_to_the_stable_one() {
    let site = Site::new();
    let said = site.run("drain c3d4e5f").unwrap();
    assert!(said.contains("c3d4e5f is draining, until"), "{said}");
    assert_eq!(site.weight(OLD), 100);
    let said = site.refused("drain 9f1c2ab");
    assert!(said.contains("promote another one first"), "{said}");
}

#[test]
fn an_abort_moves_to_the_stable_group_and_is_idempotent() {
    let site = Site::new();
    let said = site.run("abort c3d4e5f").unwrap();
    assert!(
        said.ends_with("c3d4e5f is aborted, to 9f1c2ab (move)"),
        "{said}"
    );
    assert_eq!(site.weight(OLD), 100);
    let again = site.run("abort c3d4e5f").unwrap();
    assert!(again.contains("nothing to change"), "{again}");
    let said = site.refused("abort 9f1c2ab");
    assert!(said.contains("no former stable group"), "{said}");
}

#[test]
fn an_abort_takes_a_target_and_a_policy() {
    let policy = |line: &str| {
        let site = Site::new();
        site.run("register e5f6071 --weight 1").unwrap();
        site.run(line).unwrap();
        match site.state(NEW) {
            State::Aborted(abort) => (abort.target.name().to_string(), abort.policy),
            other => panic!("{line}: {other:?}"),
        }
    };
    let stay = |secs| AbortPolicy::Stay {
        until: NOW.plus(Duration::from_secs(secs)),
    };
    for (line, to, expected) in [
        ("abort c3d4e5f --to e5f6071", "e5f6071", AbortPolicy::Move),
        ("abort c3d4e5f --policy end", OLD, AbortPolicy::End),
        ("abort c3d4e5f --policy stay", OLD, stay(600)),
        ("abort c3d4e5f --policy stay --within 2m", OLD, stay(120)),
        ("abort c3d4e5f --within 2m", OLD, stay(120)),
    ] {
        assert_eq!(policy(line), (to.to_owned(), expected), "{line}");
    }
    let site = Site::new();
    let usage = site.run("abort c3d4e5f --policy end --within 2m");
    assert_eq!(usage.expect_err("a contradiction").exit_code(), 2);
    let said = site.refused("abort c3d4e5f --within 5h");
    assert!(said.contains("lives at most 14400s"), "{said}");
    let said = site.refused("abort c3d4e5f --to c3d4e5f");
    assert!(said.contains("possible targets: 9f1c2ab"), "{said}");
}

#[test]
fn a_restored_group_is_staged_under_the_next_generation() {
    let site = Site::new();
    let said = site.refused("restore c3d4e5f");
    assert!(said.contains("aborted or retired"), "{said}");
    site.run("abort c3d4e5f").unwrap();
    let said = site.run("restore c3d4e5f").unwrap();
    assert!(said.ends_with("c3d4e5f is staged, generation 2"), "{said}");
}

#[test]
fn a_draining_group_is_retired_when_no_session_can_be_left_or_by_force() {
    let site = Site::new();
    let said = site.refused("retire c3d4e5f");
    assert!(said.contains("c3d4e5f is active"), "{said}");
    site.run("drain c3d4e5f").unwrap();
    let said = site.refused("retire c3d4e5f");
    assert!(
        said.contains("is not drained before 2027-01-15T12:10:00Z"),
        "{said}"
    );
    site.run("retire c3d4e5f --preview").expect_err("a refusal");
    let previewed = site.run("retire c3d4e5f --force --preview").unwrap();
    assert!(
        previewed.contains("left  sessions of c3d4e5f"),
        "{previewed}"
    );
    site.run("retire c3d4e5f --force").unwrap();
    assert_eq!(site.state(NEW), State::Retired { at: NOW });

    let patient = Site::new();
    patient.run("drain c3d4e5f").unwrap();
    let over = NOW.plus(Duration::from_secs(4 * 3600 + 601));
    patient.at("retire c3d4e5f", over).unwrap();
    assert_eq!(patient.state(NEW), State::Retired { at: over });
}

#[test]
fn a_locked_rollout_accepts_an_abort_only() {
    let site = Site::new();
    let said = site.run("lock").unwrap();
    assert!(said.contains("locked"), "{said}");
    let said = site.refused("promote c3d4e5f");
    assert!(said.contains("unlock it first"), "{said}");
    site.run("abort c3d4e5f").unwrap();
    site.run("unlock").unwrap();
    site.run("restore c3d4e5f").unwrap();
}

#[test]
fn a_preview_says_what_would_change_and_changes_nothing() {
    let site = Site::new();
    let before = fs::read(site.file()).unwrap();
    let abort = "preview at revision 1800000000: nothing is changed\n\
                 GROUP    STATE              WEIGHT     SHARE        NOTES\n\
                 9f1c2ab  active             90 -> 100  90% -> 100%  stable\n\
                 c3d4e5f  active -> aborted  10 -> 0    10% -> -\n\
                 move  sessions of c3d4e5f to 9f1c2ab, each with its next request, all by \
                 2027-01-15T08:30:00Z\n\
                 to do it, repeat it without --preview";
    assert_eq!(site.run("abort c3d4e5f --preview").unwrap(), abort);
    for (line, expected) in [
        (
            "promote c3d4e5f",
            "drains  9f1c2ab: its sessions stay, the last one until 2027-01-15T12:10:00Z",
        ),
        (
            "abort c3d4e5f --within 1m",
            "until 2027-01-15T08:01:00Z, then to 9f1c2ab",
        ),
        (
            "abort c3d4e5f --policy end",
            "end  sessions of c3d4e5f, each with its next request",
        ),
        ("register e5f6071", "e5f6071  - -> staged"),
        ("weights c3d4e5f=10", "nothing to change"),
    ] {
        let said = site.run(&format!("{line} --preview")).unwrap();
        assert!(said.contains(expected), "{line}: {said}");
    }
    assert_eq!(
        fs::read(site.file()).unwrap(),
        before,
        "a preview wrote the file"
    );
    let none = Site::empty();
    none.run("init 9f1c2ab=1 --preview").unwrap();
    assert!(!none.file().exists(), "a preview made the file");
}

#[test]
fn machines_read_the_document_and_errors_as_json() {
    let site = Site::new();
    let said = site.run("weights c3d4e5f=30 --json").unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said, site.rollout().to_document());
    site.run("drain c3d4e5f").unwrap();
    let refused = site.run("retire c3d4e5f").expect_err("not drained");
    let told: Value = serde_json::from_str(&refused.told(true)).unwrap();
    let error = told.get("error").unwrap();
    assert_eq!(error.get("type").unwrap(), "refused");
    assert_eq!(error.get("can_be_forced").unwrap(), true);
}

#[test]
fn a_damaged_file_changes_nothing() {
    let site = Site::new();
    let good = fs::read_to_string(site.file()).unwrap();
    let half = good.get(..good.len() / 2).unwrap();
    let later = good.replace("\"version\":1", "\"version\":9");
    let unstable = good.replace("\"stable\":\"9f1c2ab\"", "\"stable\":\"gone1234\"");
    let last = good.replace(
        "\"revision\":1800000000",
        "\"revision\":18446744073709551615",
    );
    let long = " ".repeat(1 << 21);
    for damaged in ["", half, &later, &unstable, &last, &long] {
        assert_ne!(damaged, good, "this is no damage");
        fs::write(site.file(), damaged).unwrap();
        for line in ["weights c3d4e5f=30", "abort c3d4e5f"] {
            let failure = site.run(line).expect_err("a damaged file was accepted");
            assert_eq!(failure.exit_code(), 1, "{failure}");
        }
        site.refused("init 9f1c2ab=1");
        let now = fs::read_to_string(site.file()).unwrap();
        assert_eq!(now, damaged, "the damaged file was touched");
    }
    let missing = Site::empty();
    let failure = missing.run("promote c3d4e5f").expect_err("no file");
    assert!(failure.to_string().contains("`init` makes it"), "{failure}");
}

#[test]
fn who_holds_the_file_keeps_others_from_changing_it() {
    let site = Site::new();
    let held = Held::take(&site.file()).unwrap();
    let failure = site.run("abort c3d4e5f").expect_err("held by another one");
    assert!(matches!(failure, Failure::Busy(_)), "{failure}");
    assert_eq!(failure.exit_code(), 1);
    assert!(
        failure
            .to_string()
            .contains("is being changed by another process"),
        "{failure}"
    );
    site.run("show").expect("looking needs no lock");
    drop(held);
    site.run("abort c3d4e5f").expect("the lock stays held");
}

#[test]
fn many_writers_at_a_time_lose_no_change() {
    const WRITERS: u64 = 8;
    let site = Site::new();
    std::thread::scope(|scope| {
        let site = &site;
        for nth in 0..WRITERS {
            scope.spawn(move || site.run(&format!("register group{nth}")).unwrap());
        }
    });
    assert_eq!(site.revision(), 1_800_000_000 + WRITERS);
    assert_eq!(site.rollout().groups().len() as u64, 2 + WRITERS);
}

#[test]
fn a_write_leaves_the_mode_and_the_link_and_nothing_else() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let site = Site::new();
    fs::set_permissions(site.file(), fs::Permissions::from_mode(0o640)).unwrap();
    let elsewhere = Site::empty();
    symlink(site.file(), elsewhere.file()).unwrap();
    elsewhere.run("abort c3d4e5f").unwrap();
    let link = fs::symlink_metadata(elsewhere.file()).unwrap();
    assert!(link.file_type().is_symlink(), "the link was replaced");
    assert!(matches!(site.state(NEW), State::Aborted(_)));
    let mode = fs::metadata(site.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(names(site.0.path()), ["rollout.json", "rollout.json.lock"]);
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}
