//! A rollout and a list of peers in files that are followed.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tempfile::TempDir;
use tokio::time::sleep;
use tower_affinity::core::{Revision, Timestamp};
use tower_affinity::files::{FileError, PeersFile, RolloutFile};
use tower_affinity::record::Recorder;
use tower_affinity::{Groups, Rollouts};
use tower_affinity_testing::{HandClock, START, name, rollout};

use crate::support::{K1, Site};

struct Place {
    folder: TempDir,
    counted: Snapshotter,
    recorder: Recorder,
}

impl Place {
    fn new() -> Self {
        let metrics = DebuggingRecorder::new();
        Self {
            folder: tempfile::tempdir().unwrap(),
            counted: metrics.snapshotter(),
            recorder: Recorder::new(Arc::new(metrics)),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("file.json")
    }

    /// Replaces the file by a rename, as editors and volumes do.
    fn write(&self, content: &str) {
        let beside = self.folder.path().join("beside");
        fs::write(&beside, content).unwrap();
        fs::rename(&beside, self.path()).unwrap();
    }

    fn write_rollout(&self, revision: u64, shares: &[(&str, u64)]) {
        self.write(&rollout(revision, shares).to_document().to_string());
    }

    fn rollouts(&self) -> Rollouts {
        let file = RolloutFile::new(self.path()).recorder(self.recorder.clone());
        file.follow().unwrap()
    }

    /// How often content was refused since the last time.
    fn refused(&self) -> u64 {
        let counts = self.counted.snapshot().into_vec().into_iter();
        let refused =
            counts.filter(|(key, ..)| key.key().name() == "affinity_inputs_rejected_total");
        refused
            .map(|(_, _, _, value)| match value {
                DebugValue::Counter(count) => count,
                _ => 0,
            })
            .sum()
    }
}

/// Time for one look at the file.
async fn a_look() {
    sleep(Duration::from_millis(1100)).await;
}

#[tokio::test(start_paused = true)]
async fn a_greater_revision_in_the_file_is_in_force_within_a_second() {
    let place = Place::new();
    place.write_rollout(10, &[("A", 1)]);
    let rollouts = place.rollouts();
    assert_eq!(rollouts.current().revision(), Revision(10));
    place.write_rollout(11, &[("A", 1), ("B", 1)]);
    a_look().await;
    assert_eq!(*rollouts.current(), rollout(11, &[("A", 1), ("B", 1)]));
    assert_eq!(place.refused(), 0);
}

#[tokio::test(start_paused = true)]
async fn bad_content_changes_nothing_and_is_counted_once() {
    let good = rollout(11, &[("A", 1)]).to_document();
    let half = good.to_string().split_at(40).0.to_owned();
    let mut no_stable = good.clone();
    no_stable["stable"] = "Z".into();
    let mut later = good.clone();
    later["version"] = 99.into();
    for (row, content) in [
        ("empty", String::new()),
        ("half", half),
        ("no rollout", "{}".to_owned()),
        ("breaks a rule", no_stable.to_string()),
        ("of a later release", later.to_string()),
        (
            "the same revision",
            rollout(10, &[("A", 2), ("B", 1)]).to_document().to_string(),
        ),
        (
            "a lower revision",
            rollout(9, &[("B", 1)]).to_document().to_string(),
        ),
        ("far too long", " ".repeat((1 << 20) + 1)),
    ] {
        let place = Place::new();
        place.write_rollout(10, &[("A", 1)]);
        let rollouts = place.rollouts();
        let before = rollouts.current();
        place.write(&content);
        for _ in 0..3 {
            a_look().await;
        }
        assert!(
            Arc::ptr_eq(&before, &rollouts.current()),
            "{row}: it changed something"
        );
        assert_eq!(place.refused(), 1, "{row}");
        fs::remove_file(place.path()).unwrap();
        for _ in 0..3 {
            a_look().await;
        }
        assert_eq!(place.refused(), 1, "{row}: a file that is gone");
        place.write_rollout(12, &[("A", 1)]);
        a_look().await;
        assert_eq!(
            rollouts.current().revision(),
            Revision(12),
            "{row}: it stuck"
        );
        assert_eq!(place.refused(), 0, "{row}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_good_file_nothing_starts() {
    let place = Place::new();
    let follow = || RolloutFile::new(place.path()).follow();
    assert!(matches!(follow(), Err(FileError::Read(_))));
    place.write("[]");
    assert!(
        matches!(follow(), Err(FileError::Rollout(_))),
        "{:?}",
        follow()
    );
    place.write("{");
    assert!(matches!(follow(), Err(FileError::Form(_))));
}

#[tokio::test(start_paused = true)]
async fn a_pin_above_the_file_has_it_read_at_once_and_never_raises_the_revision() {
    let place = Place::new();
    place.write_rollout(10, &[("A", 1)]);
    let file = RolloutFile::new(place.path()).every(Duration::from_secs(3600));
    let rollouts = file.follow().unwrap();
    let clock = HandClock::at(Timestamp::from_secs(START));
    let site = Site::of(clock, rollouts.clone(), K1, |builder| builder);
    sleep(Duration::from_millis(50)).await;
    place.write_rollout(12, &[("A", 1), ("B", 1)]);
    rollouts.seen(Revision(12), Timestamp::from_secs(START));
    sleep(Duration::from_millis(50)).await;
    assert_eq!(rollouts.current().revision(), Revision(12));
    rollouts.seen(Revision(15), Timestamp::from_secs(START));
    sleep(Duration::from_millis(500)).await;
    assert_eq!(
        rollouts.current().revision(),
        Revision(12),
        "raised by a pin"
    );
    // what the file says next is above it, although the pin is not
    place.write_rollout(13, &[("A", 1)]);
    rollouts.seen(Revision(15), Timestamp::from_secs(START));
    sleep(Duration::from_millis(100)).await;
    assert_eq!(rollouts.current().revision(), Revision(13));
    assert_eq!(site.revision(), Revision(13), "the layer reads the same");
}

#[tokio::test(start_paused = true)]
async fn peers_come_and_change_with_their_file_and_no_list_empties_a_group() {
    let place = Place::new();
    let groups = Groups::default();
    let addresses = |group: &str| -> Vec<String> {
        let endpoints = groups.endpoints(&name(group)).into_iter();
        endpoints
            .map(|endpoint| endpoint.address().to_string())
            .collect()
    };
    let file = || PeersFile::new(place.path()).recorder(place.recorder.clone());
    place.write(r#"{"A": ["10.0.0.1:3000", "10.0.0.2:3000"], "B": ["[::1]:3000"]}"#);
    file().follow(&groups).unwrap();
    assert_eq!(addresses("A"), ["10.0.0.1:3000", "10.0.0.2:3000"]);
    assert_eq!(addresses("B"), ["[::1]:3000"]);
    place.write(r#"{"A": ["10.0.0.2:3000"], "B": []}"#);
    a_look().await;
    assert_eq!(addresses("A"), ["10.0.0.2:3000"]);
    assert_eq!(
        addresses("B"),
        ["[::1]:3000"],
        "an empty list emptied a group"
    );
    for bad in [
        "{}x",
        r#"{"A": ["10.0.0.9:3000"], "none": []}"#,
        r#"{"A": ["10.0.0.9:3000"], "B": ["a name:1"]}"#,
        r#"{"A": ["10.0.0.9:3000"], "B": "10.0.0.1:1"}"#,
    ] {
        place.write(bad);
        a_look().await;
        assert_eq!(place.refused(), 1, "{bad}");
        assert_eq!(addresses("A"), ["10.0.0.2:3000"], "{bad} counted in part");
    }
    place.write("{}");
    a_look().await;
    assert_eq!(addresses("A"), ["10.0.0.2:3000"]);
    assert!(file().follow(&Groups::default()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn following_ends_with_the_last_handle() {
    let place = Place::new();
    place.write_rollout(10, &[("A", 1)]);
    let rollouts = place.rollouts();
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    assert_eq!(tasks(), 1);
    drop(rollouts);
    a_look().await;
    a_look().await;
    assert_eq!(tasks(), 0, "a file is read for nobody");
}
