//! The effective settings are a configuration of their own, without secrets.

use super::{EXAMPLE, KEY_A, KEY_B, MINIMAL, edited, settings};

#[test]
fn effective_settings_parse_to_themselves() {
    let aborted = edited(
        "weight    = 10\nstate     = \"active\"",
        "state = \"aborted\"\nabort_to = \"9f1c2ab\"",
    );
    let logged = format!("{MINIMAL}[access_log]\npath = \"a.log\"\nformat = \"text\"\n");
    let declared = edited(
        "compatible_with = []",
        "compatible_with = [\"9f1c2ab\", \"old\"]",
    );
    for text in [EXAMPLE, MINIMAL, &aborted, &logged, &declared] {
        let once = settings(text);
        assert_eq!(
            settings(&once.effective()),
            once,
            "of\n{}",
            once.effective()
        );
    }
}

#[test]
fn effective_settings_write_every_default() {
    let text = settings(MINIMAL).effective();
    for key in [
        "admin_token_file",
        "workers = ",
        "drain = \"25s\"",
        "drain_delay = \"0s\"",
        "carriers",
        "clock_skew",
        "same_site",
        "weight = 1",
        "stable = true",
        "response_timeout",
        "on_gone",
        "within",
        "[analysis]\nslow = \"1s\"\nlogin = []\nmin_effect = 0.01\nalpha = 0.05",
        "measures = [\"failures\"]\nabort_on_worse = false",
        "file = \"/etc/affinity/gateway-state.json\"",
    ] {
        assert!(text.contains(key), "{key} is not in\n{text}");
    }
}

#[test]
fn no_form_of_the_settings_shows_a_key() {
    let settings = settings(EXAMPLE);
    let shown = format!("{settings:?}\n{settings:#?}\n{}", settings.effective());
    for key in [KEY_A, KEY_B] {
        assert!(!shown.contains(&key[..6]), "a key is shown in\n{shown}");
    }
    let bytes = format!("{:?}", settings.pin.keys[0].secret.expose());
    assert!(
        !shown.contains(&bytes[1..20]),
        "the bytes of a key are shown in\n{shown}"
    );
}
