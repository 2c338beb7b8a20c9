//! `upstream.retries`.

use super::{MINIMAL, read, settings};

fn with(retries: &str) -> String {
    format!("{MINIMAL}[upstream]\nretries = {retries}\n")
}

#[test]
fn what_is_not_written_has_its_default_and_what_is_written_counts() {
    let retries = |text: &str| settings(text).upstream.retries;
    let of = |text: &str| {
        let read = retries(text);
        let budget = (read.budget_percent, read.budget_floor);
        (read.max, budget, read.max_body)
    };
    assert_eq!(of(MINIMAL), (2, (20, 3), 65_536));
    assert_eq!(of(&with("{}")), (2, (20, 3), 65_536));
    let all = "{ max = 0, budget_percent = 100, budget_floor = 7, max_body = 1 }";
    assert_eq!(of(&with(all)), (0, (100, 7), 1));
}

#[test]
fn the_effective_settings_say_how_often_a_request_is_sent_again() {
    let text = with("{ max = 1, budget_percent = 5, budget_floor = 0, max_body = 9 }");
    let once = settings(&text);
    let line = "retries = { max = 1, budget_percent = 5, budget_floor = 0, max_body = 9 }\n";
    assert!(once.effective().contains(line), "{}", once.effective());
    assert_eq!(settings(&once.effective()), once);
}

#[test]
fn numbers_have_bounds_and_other_keys_are_refused() {
    for (key, bad, accepted) in [
        ("max", "11", "from 0 to 10"),
        ("max", "-1", "from 0 to 10"),
        ("budget_percent", "101", "from 0 to 100"),
        ("budget_floor", "10001", "from 0 to 10000"),
        ("max_body", "16777217", "from 0 to 16777216"),
        ("max_body", "\"64KiB\"", "from 0 to 16777216"),
        ("tries", "1", "max, "),
    ] {
        let error = read(&with(&format!("{{ {key} = {bad} }}"))).unwrap_err();
        let path = format!("upstream.retries.{key}");
        assert_eq!(error.key_path(), Some(path.as_str()), "{error}");
        let shown = error.to_string();
        assert!(shown.contains(accepted), "{accepted:?} is not in {shown}");
    }
    let error = read(&with("2")).unwrap_err();
    assert_eq!(error.key_path(), Some("upstream.retries"), "{error}");
}
