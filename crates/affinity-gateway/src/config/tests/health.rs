//! How health is asked.

use std::time::Duration;

use super::{MINIMAL, settings};
use crate::config::Health;

fn health(upstream: &str) -> Health {
    let written = settings(&format!("{MINIMAL}[upstream]\n{upstream}"));
    assert_eq!(settings(&written.effective()), written, "{upstream}");
    written.upstream.health.expect("there is health")
}

#[test]
fn a_check_takes_at_most_an_interval_unless_the_file_says_how_long() {
    let default = health("health = {}");
    assert_eq!(default.interval, Duration::from_secs(2));
    assert_eq!(default.jitter_percent, 20);
    for (upstream, millis) in [
        ("health = {}", 2_000),
        ("health = { interval = \"100ms\" }", 1_000),
        ("health = { interval = \"1h\" }", 31_000),
        (
            "connect_timeout = \"200ms\"\nresponse_timeout = \"300ms\"\nhealth = {}",
            500,
        ),
        ("health = { timeout = \"10ms\", jitter_percent = 0 }", 10),
    ] {
        assert_eq!(
            health(upstream).timeout,
            Duration::from_millis(millis),
            "{upstream}"
        );
    }
}
