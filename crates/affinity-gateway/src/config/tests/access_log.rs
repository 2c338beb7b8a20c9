//! `[access_log]`.

use std::path::Path;

use super::{MINIMAL, read, settings};
use crate::access::AccessFormat;

fn with(log: &str) -> String {
    format!("{MINIMAL}[access_log]\n{log}\n")
}

#[test]
fn nothing_is_logged_unless_the_file_says_where() {
    assert_eq!(settings(MINIMAL).access_log, None);
    let log = settings(&with("path = \"access.log\"")).access_log.unwrap();
    assert_eq!(log.path, Path::new("/etc/affinity/access.log"));
    assert_eq!(log.format, AccessFormat::Json);
    let log = settings(&with("path = \"/dev/stdout\"\nformat = \"text\""))
        .access_log
        .unwrap();
    assert_eq!(log.path, Path::new("/dev/stdout"));
    assert_eq!(log.format, AccessFormat::Text);
}

#[test]
fn what_no_log_can_be_is_refused_with_its_key() {
    for (log, key) in [
        ("format = \"json\"", "access_log.path"),
        ("path = 1", "access_log.path"),
        ("path = \"logs/\"", "access_log.path"),
        ("path = \"a\"\nformat = \"xml\"", "access_log.format"),
    ] {
        let error = read(&with(log)).unwrap_err();
        assert!(error.to_string().contains(key), "{log}: {error}");
    }
}
