//! `upstream.balance`, `max_in_flight`, `ejection`, `slow_start`, and `group.reserve_percent`.

use std::time::Duration;

use tower_affinity::balance::{Balancing, Choice, EjectionPolicy};

use super::{MINIMAL, read, settings};

fn with(lines: &str) -> String {
    format!("{MINIMAL}[upstream]\n{lines}\n")
}

const ALL: &str = r#"balance = "peak_ewma"
max_in_flight = 64
ejection = { failures = 3, base = "500ms", max = "30s" }
slow_start = "20s""#;

#[test]
fn what_is_not_written_has_its_default_and_what_is_written_counts() {
    let balancing = |text: &str| settings(text).upstream.balancing;
    assert_eq!(balancing(MINIMAL), Balancing::default());
    assert_eq!(balancing(&with("ejection = {}")), Balancing::default());
    let all = Balancing {
        choice: Choice::PeakEwma,
        max_in_flight: Some(64),
        ejection: EjectionPolicy {
            failures: 3,
            base: Duration::from_millis(500),
            max: Duration::from_secs(30),
        },
        slow_start: Duration::from_secs(20),
    };
    assert_eq!(balancing(&with(ALL)), all);
    assert_eq!(settings(MINIMAL).groups[0].reserve_percent, 10);
    let none = format!("{MINIMAL}reserve_percent = 0");
    assert_eq!(settings(&none).groups[0].reserve_percent, 0);
}

#[test]
fn the_effective_settings_say_how_endpoints_are_chosen() {
    for text in [&with(ALL), &format!("{MINIMAL}reserve_percent = 33")] {
        let once = settings(text);
        assert_eq!(settings(&once.effective()), once, "{}", once.effective());
    }
    let text = settings(&with(ALL)).effective();
    for line in ALL.lines() {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let text = settings(MINIMAL).effective();
    for line in [
        "balance = \"least_in_flight\"\n",
        "ejection = { failures = 5, base = \"1s\", max = \"5m\" }\n",
        "slow_start = \"0s\"\n",
        "reserve_percent = 10\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn values_have_bounds_and_other_keys_are_refused() {
    for (line, key, accepted) in [
        ("balance = \"random\"", "balance", "peak_ewma"),
        ("max_in_flight = 0", "max_in_flight", "from 1 to 1000000"),
        ("ejection = 3", "ejection", "a table"),
        (
            "ejection = { failures = 0 }",
            "ejection.failures",
            "from 1 to 1000",
        ),
        (
            "ejection = { base = \"1ms\" }",
            "ejection.base",
            "from 10ms to 1d",
        ),
        (
            "ejection = { max = \"500ms\" }",
            "ejection.max",
            "at least ejection.base",
        ),
        (
            "ejection = { percent = 50 }",
            "ejection.percent",
            "failures, base, max",
        ),
        ("slow_start = \"2h\"", "slow_start", "from 0s to 1h"),
    ] {
        let error = read(&with(line)).unwrap_err();
        let path = format!("upstream.{key}");
        assert_eq!(error.key_path(), Some(path.as_str()), "{error}");
        let shown = error.to_string();
        assert!(shown.contains(accepted), "{accepted:?} is not in {shown}");
    }
    let error = read(&format!("{MINIMAL}reserve_percent = 101")).unwrap_err();
    assert_eq!(
        error.key_path(),
        Some("group[0].reserve_percent"),
        "{error}"
    );
}
