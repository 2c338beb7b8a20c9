//! Browsers on two versions: a page load moves on, what the old page needs stays.

use tower_affinity::core::{OnGone, OnNavigation};
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity_testing::{ScriptedReadiness, name};

use crate::support::{Browser, Seen, Site};

const PAGE: [(&str, &str); 2] = [
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];
const CALL: [(&str, &str); 2] = [("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];

fn site(ready: &ScriptedReadiness) -> Site {
    let scope = Scope::new(PathPattern::all()).on_navigation(OnNavigation::Latest);
    Site::with(|builder| builder.scope(scope).readiness(ready.clone()))
}

/// A browser whose session is on B.
fn on_b(site: &Site) -> Browser {
    let mut browser = Browser::default();
    let now = tower_affinity::core::Clock::now(&site.clock);
    let token = site.token("B");
    let line = format!("{}={token}; Path=/; Secure", crate::support::COOKIE_NAME);
    browser.0.take(&line, now);
    browser
}

fn call(browser: &mut Browser, site: &Site) -> Seen {
    browser.ask(site, "GET", "/api", &CALL)
}

/// C115.
#[test]
fn c115_a_page_load_moves_on_from_a_draining_commit_and_what_the_old_page_calls_stays() {
    let site = site(&ScriptedReadiness::default());
    let mut browser = on_b(&site);
    assert_eq!(
        browser.ask(&site, "GET", "/", &PAGE).said(),
        "pinned/ok@B",
        "B is active"
    );
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    for _ in 0..3 {
        assert_eq!(call(&mut browser, &site).said(), "pinned/draining@B");
    }
    let posted = browser.ask(&site, "POST", "/step", &PAGE);
    assert_eq!(
        posted.said(),
        "pinned/draining@B",
        "a form is a step of the flow"
    );
    let ahead = [&PAGE[..], &[("sec-purpose", "prefetch")]].concat();
    let seen = browser.ask(&site, "GET", "/next", &ahead);
    assert_eq!(
        seen.said(),
        "pinned/draining@B",
        "the old page is still shown"
    );
    let whole = [&PAGE[..], &[("if-none-match", "\"b\"")]].concat();
    let seen = browser.ask(&site, "GET", "/", &whole);
    assert_eq!(seen.said(), "moved/released@A");
    assert!(
        seen.forwarded("if-none-match").is_empty(),
        "the page is whole, and of A"
    );
    assert!(seen.cookie().is_some());
    assert_eq!(seen.header("affinity-reload"), None, "it is the new page");
    assert_eq!(seen.affinity().moved_from().unwrap().from.label(), "B");
    assert_eq!(call(&mut browser, &site).said(), "pinned/ok@A");
    assert_eq!(
        browser.ask(&site, "GET", "/", &PAGE).said(),
        "pinned/ok@A",
        "moved once"
    );
}

#[test]
fn a_page_load_waits_until_the_stable_commit_can_take_it() {
    let ready = ScriptedReadiness::default();
    let site = site(&ready);
    let mut browser = on_b(&site);
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    ready.down(name("A"), site.pin("A").issued);
    assert_eq!(
        browser.ask(&site, "GET", "/", &PAGE).said(),
        "pinned/draining@B"
    );
    ready.up(&name("A"));
    assert_eq!(
        browser.ask(&site, "GET", "/", &PAGE).said(),
        "moved/released@A"
    );
}

#[test]
fn by_default_a_page_load_keeps_its_commit() {
    let scope = Scope::new(PathPattern::all()).on_gone(OnGone::Strict);
    let site = Site::with(|builder| builder.scope(scope));
    let mut browser = on_b(&site);
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    assert_eq!(
        browser.ask(&site, "GET", "/", &PAGE).said(),
        "pinned/draining@B"
    );
}

/// C114.
#[test]
fn c114_a_tab_that_sends_its_pin_keeps_its_commit_after_another_tab_has_moved_on() {
    let site = site(&ScriptedReadiness::default());
    let mut browser = on_b(&site);
    let old = browser.token().to_owned();
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    assert_eq!(
        browser.ask(&site, "GET", "/", &PAGE).said(),
        "moved/released@A"
    );
    let pin = [&CALL[..], &[("affinity-pin", old.as_str())]].concat();
    let seen = browser.ask(&site, "GET", "/api", &pin);
    assert_eq!(
        seen.said(),
        "pinned/draining@B",
        "the old tab is on B still"
    );
    assert!(seen.is_silent(), "the cookie is not touched");
    assert_eq!(call(&mut browser, &site).said(), "pinned/ok@A");
}
