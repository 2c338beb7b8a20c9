//! How long a token gets.

use super::forge::{ours, pin};
use crate::fixtures::{at, codec, endpoint, id, lifetimes};
use crate::{
    GroupRef, LastMove, MAX_TOKEN, MoveCause, Outcomes, PinCodec, Revision, SessionPin, ToldCause,
};

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
        outcomes: Outcomes::from_bits(u16::MAX),
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
    let placed = moved.at_endpoint(Some(endpoint("10.0.0.1:8080")));
    assert_eq!(length(&longest_names(), &placed), 491, "with an endpoint");
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

#[test]
fn outcomes_are_left_out_of_a_pin_that_would_be_too_long_before_its_endpoint_is() {
    let codec = longest_names();
    let revision = Revision(crate::fixtures::START + 1000);
    let first = SessionPin {
        revision,
        assigned: revision,
        ..pin()
    };
    let moved = first.moved(
        id("B", 1),
        MoveCause::GroupDown,
        revision,
        at(0),
        lifetimes(),
    );
    let moved = moved.at_endpoint(Some(endpoint("10.0.0.1:8080")));
    let every = Outcomes::ALL
        .into_iter()
        .fold(Outcomes::default(), Outcomes::and);
    let opened = |pin: &SessionPin| {
        let token = codec.seal(pin).token;
        codec
            .open(token.as_bytes(), at(1), lifetimes())
            .unwrap()
            .pin
    };
    let failed = opened(&moved.clone().turned_out(every));
    assert_eq!(failed.outcomes, every, "there is room for both");
    let too_long = opened(&moved.turned_out(every).released());
    assert!(too_long.outcomes.is_empty() && too_long.endpoint.is_some());
}

#[test]
fn an_endpoint_is_left_out_of_a_pin_that_would_be_too_long_and_nothing_else_is() {
    let codec = longest_names();
    let released = SessionPin {
        revision: Revision(crate::fixtures::START + 1000),
        assigned: Revision(crate::fixtures::START + 1000),
        ..pin()
    }
    .moved(
        id("B", 1),
        MoveCause::GroupDown,
        Revision(crate::fixtures::START + 1000),
        at(0),
        lifetimes(),
    )
    .at_endpoint(Some(endpoint("10.0.0.1:8080")))
    .released();
    assert_eq!(codec.seal(&released).token.len(), 509, "it just fits");
    let fits = codec.seal(&released).token;
    let opened = codec.open(fits.as_bytes(), at(1), lifetimes()).unwrap().pin;
    assert!(opened.endpoint.is_some());
    let sealed = codec.seal(&greatest().at_endpoint(Some(endpoint("10.0.0.1:8080"))));
    assert_eq!(sealed, codec.seal(&greatest()), "all but the endpoint");
}
