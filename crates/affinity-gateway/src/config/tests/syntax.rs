//! Texts that are no TOML, and the spellings of TOML that all mean the same.

use super::{EXAMPLE, MINIMAL, edited, read, settings};

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    for (from, to, line) in [
        ("\"checkout\"", "checkout", 2),
        ("\"checkout\"", "\"checkout", 2),
        ("[listen]", "[listen", 3),
        ("[listen]", "service = 1", 3),
        ("[rollback]", "[pin]", 45),
        ("weight    = 10", "weight =", 28),
        ("weight    = 10", "weight = 1\nweight = 2", 29),
        ("weight    = 10", "weight = 1 2", 28),
        ("weight    = 10", "weight = 010", 28),
        ("weight    = 10", "weight\u{0} = 10", 28),
    ] {
        let error = read(&edited(from, to)).expect_err(to);
        assert_eq!(error.line(), Some(line), "for {to:?}: {error}");
        assert!(error.to_string().contains("not valid TOML: "), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

#[test]
fn a_key_that_is_written_twice_is_named() {
    for (to, key) in [
        ("weight = 1\nweight = 2", "weight"),
        ("name = \"x\"\nweight = 10", "name"),
    ] {
        let error = read(&edited("weight    = 10", to)).unwrap_err();
        assert_eq!(error.key_path(), Some(key), "{error}");
    }
    let error = read(&edited("[rollback]", "[pin]")).unwrap_err();
    assert_eq!(error.key_path(), Some("pin"), "{error}");
}

#[test]
fn a_table_of_the_wrong_kind_is_told_by_its_key() {
    let error = read(&MINIMAL.replace("[[group]]", "[group]")).unwrap_err();
    assert_eq!(error.key_path(), Some("group"), "{error}");
    let error = read(&MINIMAL.replace("[pin]", "[[pin]]")).unwrap_err();
    assert_eq!(error.key_path(), Some("pin"), "{error}");
    let error = read(&format!("scope = [1]\n{MINIMAL}")).unwrap_err();
    assert_eq!(error.key_path(), Some("scope[0]"), "{error}");
}

#[test]
fn line_ends_and_a_byte_order_mark_mean_nothing() {
    assert_eq!(settings(&EXAMPLE.replace('\n', "\r\n")), settings(EXAMPLE));
    assert_eq!(settings(&format!("\u{feff}{EXAMPLE}")), settings(EXAMPLE));
    let error = read(&edited("weight    = 90", "weight = -90").replace('\n', "\r\n")).unwrap_err();
    assert_eq!(error.line(), Some(22), "{error}");
}

#[test]
fn the_first_mistake_of_the_file_is_told_and_the_others_are_counted() {
    let text = edited("weight    = 10", "weight = -1")
        .replace("\"4h\"", "4")
        .replace("\"30s\"\n[", "0\n[");
    let shown = read(&text).unwrap_err().to_string();
    assert!(shown.starts_with("line 12: pin.max_age = 4: "), "{shown}");
    assert!(shown.ends_with(" (2 more problems)"), "{shown}");
}
