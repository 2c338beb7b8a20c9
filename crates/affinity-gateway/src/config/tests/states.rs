//! Where the state is kept.

use std::time::Duration;

use super::{MINIMAL, read, settings};

fn with(state: &str) -> String {
    format!("{MINIMAL}[state]\n{state}")
}

#[test]
fn replicas_share_their_state_below_a_prefix_of_the_service() {
    let shared = settings(&with(
        "etcd = [\"http://10.0.0.1:2379\", \"http://[::1]:2379\"]",
    ));
    let etcd = shared.state.etcd.as_ref().expect("etcd");
    assert_eq!(
        etcd.endpoints,
        ["http://10.0.0.1:2379", "http://[::1]:2379"]
    );
    assert_eq!(etcd.prefix, format!("/affinity/{}", shared.service));
    assert_eq!(shared.pin.clock_skew, Duration::from_secs(300));
    assert!(
        shared.state.file.ends_with("gateway-state.json"),
        "it is kept as well"
    );
    assert_eq!(settings(&shared.effective()), shared);
}

#[test]
fn the_only_replica_allows_no_skew() {
    let alone = settings(MINIMAL);
    assert_eq!(alone.state.etcd, None);
    assert_eq!(alone.pin.clock_skew, Duration::ZERO);
}

#[test]
fn a_place_that_is_none_is_refused_with_its_key() {
    let member = "etcd = [\"http://127.0.0.1:2379\"]";
    for (text, key) in [
        ("etcd = []", "state.etcd"),
        ("etcd = \"http://127.0.0.1:2379\"", "state.etcd"),
        ("etcd = [\"127.0.0.1:2379\"]", "state.etcd[0]"),
        ("etcd = [\"https://127.0.0.1:2379\"]", "state.etcd[0]"),
        ("etcd = [\"http://127.0.0.1\"]", "state.etcd[0]"),
        ("etcd = [\"http://user:secret@127.0.0.1\"]", "state.etcd[0]"),
        ("etcd = [\"http://127.0.0.1:2379/v3\"]", "state.etcd[0]"),
        ("prefix = \"/affinity/checkout\"", "state.prefix"),
        (&format!("{member}\nprefix = \"affinity\""), "state.prefix"),
        (
            &format!("{member}\nprefix = \"/affinity/\""),
            "state.prefix",
        ),
        (
            &format!("{member}\nprefix = \"/aff inity\""),
            "state.prefix",
        ),
    ] {
        let error = read(&with(text)).expect_err(text);
        assert!(error.to_string().contains(key), "{text}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
