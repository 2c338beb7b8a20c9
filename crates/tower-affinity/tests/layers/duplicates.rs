//! Several candidates for one pin: the result does not depend on how they are written.

use tower_affinity::core::{MoveCause, SessionId, SessionPin};

use crate::support::{COOKIE_NAME, Seen, Site};

/// Both orders, in one line and in two.
fn four_spellings(site: &Site, one: &str, two: &str) -> [Seen; 4] {
    let pair = |token: &str| format!("{COOKIE_NAME}={token}");
    let (one, two) = (pair(one), pair(two));
    [
        site.get(&[("cookie", &format!("{one}; {two}"))]),
        site.get(&[("cookie", &format!("{two}; {one}"))]),
        site.get(&[("cookie", &one), ("cookie", &two)]),
        site.get(&[("cookie", &two), ("cookie", &one)]),
    ]
}

fn session(bits: u128, pin: SessionPin) -> SessionPin {
    SessionPin {
        session: SessionId::from_random(bits),
        ..pin
    }
}

/// SEC-21, C079.
#[test]
fn c079_of_two_valid_pins_the_newest_counts_in_every_spelling() {
    let site = Site::new();
    let older = session(1, site.pin("A"));
    let moved = older.moved(
        site.pin("B").group.known().unwrap().clone(),
        MoveCause::Aborted,
        site.revision(),
        older.issued,
        Default::default(),
    );
    site.advance(30);
    let newer = session(2, site.pin("B"));
    for (winner, loser) in [(&newer, &older), (&moved, &older), (&moved, &newer)] {
        for seen in four_spellings(&site, &site.seal(winner), &site.seal(loser)) {
            assert_eq!(seen.said(), "pinned/ok@B");
            assert_eq!(seen.affinity().session(), Some(winner.session));
            assert!(
                seen.forwarded("cookie").is_empty(),
                "a candidate was forwarded"
            );
        }
    }
}

/// SEC-21. Not even two pins of one second make the result depend on their order, where C082 takes
/// the first of equals.
#[test]
fn c082_two_pins_of_the_same_second_give_one_result_in_every_spelling() {
    let site = Site::new();
    let one = site.seal(&session(1, site.pin("A")));
    let two = site.seal(&session(2, site.pin("B")));
    let said = four_spellings(&site, &one, &two).map(|seen| seen.said());
    assert!(said.iter().all(|other| *other == said[0]), "{said:?}");
}

/// C082.
#[test]
fn c082_an_invalid_candidate_does_not_hide_a_valid_one() {
    let site = Site::new();
    let valid = site.token("B");
    for bad in [
        "",
        "garbage",
        "a.b.c",
        &valid[..valid.len() - 1],
        &"x".repeat(600),
    ] {
        for seen in four_spellings(&site, bad, &valid) {
            assert_eq!(seen.said(), "pinned/ok@B", "{bad}");
        }
    }
}

#[test]
fn four_candidates_are_looked_at_and_with_a_fifth_none() {
    let site = Site::new();
    let valid = site.token("B");
    let cookies = |bad: usize| {
        let bad = format!("{COOKIE_NAME}=garbage; ").repeat(bad);
        format!("{bad}{COOKIE_NAME}={valid}")
    };
    assert_eq!(site.get(&[("cookie", &cookies(3))]).said(), "pinned/ok@B");
    let seen = site.get(&[("cookie", &cookies(4))]);
    assert!(
        seen.said().starts_with("assigned/duplicates@"),
        "{}",
        seen.said()
    );
    assert!(seen.cookie().is_some());
    assert!(seen.forwarded("cookie").is_empty());
    // too many headers are no header pin, and do not hide the cookie
    let headers: Vec<_> = std::iter::repeat_n(("affinity-pin", valid.as_str()), 5).collect();
    let seen = site.get(&headers);
    assert!(
        seen.said().starts_with("assigned/duplicates@"),
        "{}",
        seen.said()
    );
    let cookie = cookies(0);
    let with_cookie = [headers.as_slice(), &[("cookie", cookie.as_str())]].concat();
    assert_eq!(site.get(&with_cookie).said(), "pinned/ok@B");
}
