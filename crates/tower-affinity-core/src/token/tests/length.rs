//! How long a token gets.

use super::forge::{ours, pin};
use crate::fixtures::{at, codec, id, lifetimes};
use crate::{GroupRef, LastMove, MAX_TOKEN, MoveCause, PinCodec, Revision, SessionPin, ToldCause};

fn longest_names() -> PinCodec {
    codec(&"s".repeat(32), &[(&"k".repeat(16), 1)])
}

/// A pin that is greater than any that can come: moved, after a thousand years of changes.
fn greatest() -> SessionPin {
    let revision = Revision(999_999_999_999);
    SessionPin {
        revision,
        assigned: revision,
        moves: u32::MAX,
        placed: true,
        released: true,
        last_move: Some(LastMove {
            from: GroupRef::Known(id(&"g".repeat(128), u32::MAX)),
            at: at(0),
            cause: ToldCause::parse(&"w".repeat(16)).unwrap(),
        }),
        ..pin()
    }
}

#[test]
fn c132_a_tokens_length_does_not_depend_on_the_groups_name() {
    let with_name = |len| {
        let group = GroupRef::Known(id(&"g".repeat(len), 1));
        ours().seal(&SessionPin { group, ..pin() }).token.len()
    };
    assert_eq!(with_name(1), with_name(32));
    assert_eq!(with_name(1), with_name(128));
}

#[test]
fn c132_a_token_is_a_small_part_of_what_a_browser_sends() {
    // revisions begin at the time in seconds when a rollout was made from nothing
    let revision = Revision(crate::fixtures::START + 1000);
    let first = SessionPin {
        revision,
        assigned: revision,
        ..pin()
    };
    let moved = first.moved(id("B", 1), MoveCause::Aborted, revision, at(0), lifetimes());
    let length = |codec: &PinCodec, pin: &SessionPin| codec.seal(pin).token.len();
    let lengths = [
        length(&ours(), &first),
        length(&ours(), &moved),
        length(&longest_names(), &first),
        length(&longest_names(), &moved),
    ];
    assert_eq!(
        lengths,
        [327, 411, 378, 462],
        "first, moved, both with the longest names"
    );
}

#[test]
fn our_own_claims_always_fit() {
    let sealed = longest_names().seal(&greatest());
    assert!(
        sealed.token.len() <= MAX_TOKEN,
        "{} bytes",
        sealed.token.len()
    );
    assert!(!sealed.dropped_unknown);
}

#[test]
fn c132_ten_thousand_renewals_add_nothing() {
    let ours = ours();
    let mut held = pin();
    let first = ours.seal(&held).token.len();
    for n in 0..10_000 {
        held = held.renewed(Revision(10), at(n), lifetimes());
        let token = ours.seal(&held).token;
        assert_eq!(token.len(), first, "renewal {n}");
        if n % 1000 == 1 {
            let opened = ours.open(token.as_bytes(), at(n), lifetimes()).unwrap().pin;
            assert_eq!(
                (opened.expires, opened.session),
                (held.expires, held.session)
            );
        }
    }
}
