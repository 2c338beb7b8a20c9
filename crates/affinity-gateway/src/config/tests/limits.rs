//! The limits of `[listen]`.

use std::time::Duration;

use super::{MINIMAL, read, settings};
use crate::serve::Limits;

fn with(line: &str) -> String {
    format!("{MINIMAL}[listen]\n{line}\n")
}

#[test]
fn what_is_written_counts_and_the_rest_is_safe() {
    assert_eq!(settings(MINIMAL).listen.limits, Limits::default());
    let all = "http2 = false\nheader_timeout = \"1s\"\nkeep_alive = \"9s\"\nbody_timeout = \"2s\"\nmax_connections = 3\nmax_requests = 6\n\
               max_streams = 4\nmax_headers = 5\nmax_header_bytes = 8192\nmax_body = 7\n";
    let read = settings(&with(all));
    let expected = Limits {
        http2: false,
        header_timeout: Duration::from_secs(1),
        keep_alive: Duration::from_secs(9),
        body_timeout: Duration::from_secs(2),
        max_connections: 3,
        max_requests: 6,
        max_streams: 4,
        max_headers: 5,
        max_header_bytes: 8192,
        max_body: 7,
    };
    assert_eq!(read.listen.limits, expected);
    assert!(read.effective().contains(all), "{}", read.effective());
    assert_eq!(settings(&read.effective()), read);
}

#[test]
fn a_scope_may_have_its_own_longest_body() {
    let scope = settings(&format!(
        "{MINIMAL}[[scope]]\npath = \"/x\"\nmax_body = 9\n"
    ));
    assert_eq!(scope.scopes[0].max_body, Some(9));
    assert_eq!(settings(&scope.effective()), scope);
    assert_eq!(settings(MINIMAL).scopes[0].max_body, None);
}

#[test]
fn values_out_of_range_are_refused_with_what_is_accepted() {
    for (key, bad, accepted) in [
        ("http2", "\"yes\"", "true, false"),
        ("header_timeout", "\"0s\"", "from 100ms to 1h"),
        ("body_timeout", "\"2h\"", "from 100ms to 1h"),
        ("body_timeout", "30", "a duration"),
        ("max_connections", "0", "from 1 to 1048576"),
        ("max_requests", "0", "from 1 to 104857600"),
        ("max_streams", "0", "from 1 to 10000"),
        ("max_headers", "10001", "from 1 to 10000"),
        ("max_header_bytes", "8191", "from 8192 to 1048576"),
        ("max_header_bytes", "1048577", "from 8192 to 1048576"),
        ("max_body", "-1", "from 0 to 1099511627776"),
    ] {
        let error = read(&with(&format!("{key} = {bad}"))).unwrap_err();
        let path = format!("listen.{key}");
        assert_eq!(error.key_path(), Some(path.as_str()), "{error}");
        assert_eq!(error.shown_value(), Some(bad), "{error}");
        let shown = error.to_string();
        assert!(shown.contains(accepted), "{accepted:?} is not in {shown}");
    }
}
