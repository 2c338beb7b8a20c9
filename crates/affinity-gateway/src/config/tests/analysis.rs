//! `[analysis]`.

use std::time::Duration;

use tower_affinity::core::analysis::Measure;

use super::{MINIMAL, read, settings};

fn with(line: &str) -> String {
    format!("{MINIMAL}[analysis]\n{line}\n")
}

#[test]
fn what_is_written_counts() {
    let all = "slow = \"250ms\"\nlogin = [\"/login\", \"/sso/*\"]\nmin_effect = 0.005\n\
               alpha = 0.01\nmeasures = [\"failures\", \"slow\"]\nabort_on_worse = true\n";
    let read = settings(&with(all));
    assert_eq!(read.analysis.slow, Duration::from_millis(250));
    let login: Vec<String> = read
        .analysis
        .login
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(login, ["/login", "/sso/*"]);
    let terms = read.analysis.terms;
    assert_eq!((terms.min_effect(), terms.alpha()), (0.005, 0.01));
    let measures: Vec<_> = terms.measures().iter().collect();
    assert_eq!(measures, [Measure::Failures, Measure::Slow]);
    assert!(read.analysis.abort_on_worse);
    assert!(read.effective().contains(all), "{}", read.effective());
    assert_eq!(settings(&read.effective()), read);
}

#[test]
fn other_values_are_refused_with_what_is_accepted() {
    let many = format!("[{}]", "\"/login\", ".repeat(65));
    for (key, path, bad, accepted) in [
        ("slow", "analysis.slow", "\"0s\"", "from 1ms to 1d"),
        ("slow", "analysis.slow", "1", "a duration"),
        ("login", "analysis.login", "\"/login\"", "an array of paths"),
        (
            "login",
            "analysis.login[0]",
            "[\"login\"]",
            "an absolute path",
        ),
        (
            "login",
            "analysis.login[0]",
            "[\"/login?next=/\"]",
            "an absolute path",
        ),
        ("login", "analysis.login[0]", "[1]", "an absolute path"),
        ("login", "analysis.login", many.as_str(), "at most 64"),
        ("min_effect", "analysis.min_effect", "0", "at most 0.5"),
        ("min_effect", "analysis.min_effect", "nan", "above 0"),
        ("alpha", "analysis.alpha", "0.5", "at most 0.2"),
        ("alpha", "analysis.alpha", "\"5%\"", "a number above 0"),
        ("measures", "analysis.measures", "[]", "at least one"),
        ("measures", "analysis.measures", "\"slow\"", "an array of"),
        (
            "measures",
            "analysis.measures[0]",
            "[\"speed\"]",
            "\"failures\"",
        ),
        (
            "abort_on_worse",
            "analysis.abort_on_worse",
            "1",
            "true, false",
        ),
    ] {
        let error = read(&with(&format!("{key} = {bad}"))).unwrap_err();
        assert_eq!(error.key_path(), Some(path), "{error}");
        let shown = error.to_string();
        assert!(shown.contains(accepted), "{accepted:?} is not in {shown}");
    }
}
