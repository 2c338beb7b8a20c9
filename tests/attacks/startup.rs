//! Keys, tokens and state files that cannot be used, or change under a running gateway.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use affinity_tests::process::{Ended, Process, run};
use affinity_tests::until;
use serde_json::json;

use super::support::{A, B, SECRET, Site, get, start, talk, unpadded};

async fn attempt(file: &Path) -> Ended {
    run(&["run", "--config", file.to_str().unwrap()], &[]).await
}

#[tokio::test]
async fn sec_55_a_key_that_can_be_guessed_starts_nothing() {
    let site = Site::start().await;
    let file = site.dir.path().join("gateway.toml");
    for (what, key) in [
        ("nothing", String::new()),
        ("a space", " ".to_owned()),
        ("eight bytes", unpadded(b"8 bytes.")),
        ("31 bytes", unpadded(&SECRET[..31])),
        ("zeros", unpadded([0; 32])),
        ("one byte", unpadded([0xa5; 64])),
        ("an example", unpadded(b"an example key, not for real use")),
        ("digits", unpadded(b"0123456789abcdef0123456789abcdef")),
        (
            "no base64url",
            "not base64url, but as long as a key has to be!".to_owned(),
        ),
        ("a password", "correct horse battery staple".to_owned()),
        (
            "two lines",
            format!("{}\n{}", unpadded(SECRET), unpadded(SECRET)),
        ),
    ] {
        site.dir.write("key", &key);
        let ended = attempt(&file).await;
        assert_eq!(ended.code, 2, "{what}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{what}");
        assert!(
            ended.stderr.contains("pin.keys"),
            "{what}: {}",
            ended.stderr
        );
        assert!(
            key.trim().is_empty() || !ended.stderr.contains(key.trim()),
            "the key is told: {}",
            ended.stderr
        );
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_read_starts_nothing() {
    let site = Site::start().await;
    let file = site.dir.path().join("gateway.toml");
    let key = site.dir.path().join("key");
    fs::remove_file(&key).unwrap();
    let ended = attempt(&file).await;
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    fs::create_dir(&key).unwrap();
    let ended = attempt(&file).await;
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    fs::remove_dir(&key).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &key).unwrap();
    let ended = attempt(&file).await;
    assert_eq!(ended.code, 2, "an endless key: {}", ended.stderr);
}

#[tokio::test]
async fn an_admin_token_that_others_could_know_starts_nothing() {
    let site = Site::start().await;
    let text = site
        .config
        .text()
        .replace("gateway-state.json", "other-state.json");
    let file = site.dir.write("other.toml", text);
    for (what, token) in [
        ("empty", ""),
        ("short", "secret"),
        ("blank", "                                        "),
    ] {
        site.dir.write("admin.token", token);
        let ended = attempt(&file).await;
        assert_ne!(ended.code, 0, "{what}");
        assert!(
            ended.stderr.contains("admin.token"),
            "{what}: {}",
            ended.stderr
        );
        assert!(
            token.trim().is_empty() || !ended.stderr.contains(token),
            "{what}: {}",
            ended.stderr
        );
    }
    let path = site.dir.path().join("admin.token");
    fs::remove_file(&path).unwrap();
    let process = Process::start(&file).await;
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "only its owner reads the token that was made");
    drop(process);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let process = Process::start(&file).await;
    until("a warning of the open token", async || {
        let log = process.log();
        let mut lines = log.lines();
        lines
            .any(|line| line.contains("WARN") && line.contains("admin.token"))
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_state_file_that_is_replaced_changes_nothing_that_runs() {
    let site = Site::start().await;
    site.weights(1, 1).await;
    site.admin().verb(B, "abort", &json!({})).await.accepted();
    let aborted = site.admin().rollout().await;
    let path = site.dir.path().join("gateway-state.json");
    let whole = fs::read(&path).unwrap();
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("cut", whole[..whole.len() / 2].to_vec()),
        (
            "another",
            b"{\"version\":1,\"sha256\":\"\",\"state\":{}}".to_vec(),
        ),
        ("deep", vec![b'['; 1 << 20]),
        (
            "edited",
            String::from_utf8_lossy(&whole)
                .replace("aborted", "active")
                .into_bytes(),
        ),
    ] {
        site.dir.write("gateway-state.json", &bytes);
        assert_eq!(site.admin().rollout().await, aborted, "{what}");
        assert_eq!(talk(site.address(), get("")).await.status(), 200, "{what}");
        // and nothing begins from it
        let ended = attempt(&site.replica.file).await;
        assert_eq!(ended.code, 1, "{what}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("gateway-state.json"),
            "{what}: {}",
            ended.stderr
        );
    }
    // the next change writes the true state again
    let body = json!({ "name": "fresh", "endpoints": ["127.0.0.1:9"] });
    site.admin().post("/v1/groups", &body).await.accepted();
    let again = start(&site.dir, &site.config, "gateway.toml", &site.clock).await;
    assert_eq!(again.admin.group(B).await["state"], "aborted");
    assert_eq!(again.admin.group("fresh").await["state"], "staged");
    assert_eq!(again.admin.group(A).await["stable"], true);
}

#[tokio::test]
async fn a_change_that_cannot_be_kept_is_not_made_unless_it_is_an_abort() {
    let site = Site::start().await;
    site.weights(1, 1).await;
    let before = site.admin().rollout().await;
    // a directory where the file has to go: nobody can rename over it, not even root
    let path = site.dir.path().join("gateway-state.json");
    fs::remove_file(&path).unwrap();
    fs::create_dir_all(path.join("x")).unwrap();
    let told = site.admin().weights(&json!({ A: 7 })).await;
    assert!(
        told.status.is_server_error(),
        "{} {}",
        told.status,
        told.text()
    );
    assert_eq!(
        site.admin().rollout().await,
        before,
        "a change was shown that is not kept"
    );
    // but a full disk keeps no bad commit in service
    let told = site.admin().verb(B, "abort", &json!({})).await;
    told.accepted();
    assert_eq!(told.json()["held"], "replica", "it is said to be kept");
    assert_eq!(site.admin().group(B).await["state"], "aborted");
}
