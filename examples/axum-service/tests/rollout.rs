//! The tool as an operator and a script meet it, and what a service that follows the file makes of it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use tokio::time::timeout;
use tower_affinity::core::State;
use tower_affinity::files::RolloutFile;

fn rollout(file: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollout"));
    command.arg(file).args(words).output().unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn exit_codes_and_words_tell_how_a_verb_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rollout.json");
    for (words, code, expected) in [
        (&["show"][..], 1, "`init` makes it"),
        (&["init", "9f1c2ab=90", "c3d4e5f=10"], 0, ""),
        (&["weights", "c3d4e5f=10001"], 2, "0 to 10000"),
        (&["weights", "c3d4e5f"], 2, "COMMIT=WEIGHT"),
        (&["abort", "c3d4e5f", "--policy", "later"], 2, "stay"),
        (
            &["drain", "9f1c2ab"],
            4,
            "rollout: 9f1c2ab is the stable group",
        ),
        (&["drain", "9f1c2ab", "--json"], 4, r#""type":"refused""#),
        (&["abort", "c3d4e5f"], 0, ""),
    ] {
        let output = rollout(&file, words);
        let told = said(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(expected), "{words:?}: {told}");
        let is_done = code == 0;
        assert_eq!(told.is_empty(), is_done, "{words:?}: {told}");
        assert_eq!(!output.stdout.is_empty(), is_done, "{words:?}");
    }
}

#[tokio::test]
async fn a_service_follows_what_the_tool_writes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rollout.json");
    let write = |words: &[&str]| {
        let output = rollout(&file, words);
        assert!(output.status.success(), "{}", said(&output.stderr));
    };
    write(&["init", "9f1c2ab=90", "c3d4e5f=10"]);
    let followed = RolloutFile::new(&file).every(Duration::from_millis(20));
    let rollouts = followed.follow().unwrap();
    let new = "c3d4e5f".parse().unwrap();
    write(&["abort", "c3d4e5f"]);
    let aborted = async {
        loop {
            let now = rollouts.current();
            if let State::Aborted(_) = now.group(&new).unwrap().state() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let limit = Duration::from_secs(20);
    timeout(limit, aborted)
        .await
        .expect("the abort was not followed");
}
