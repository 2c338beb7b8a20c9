//! I6: bytes that we did not sign are no pin.

use std::time::Duration;

use proptest::prelude::*;

use crate::fixtures::{at, codec, id, lifetimes, session};
use crate::{
    Fault, GroupRef, LastMove, MAX_TOKEN, MoveCause, PinCodec, Revision, SessionPin, Timestamp,
};

fn ours() -> PinCodec {
    codec("checkout", &[("k1", 1), ("k2", 2)])
}

fn any_pin() -> impl Strategy<Value = SessionPin> {
    let times = (0..10_000_u64, 0..1000_u64);
    let revisions = (0..1_000_000_000_u64, 0..1_000_000_000_u64);
    (
        any::<u128>(),
        "[a-z0-9]{1,40}",
        1..9_u32,
        times,
        revisions,
        0..4_u32,
        any::<bool>(),
    )
        .prop_map(
            |(bits, name, generation, (age, idle), (revision, assigned), moves, told)| {
                let started = Timestamp::from_secs(at(0).as_secs() - age);
                let issued = started.plus(Duration::from_secs(idle.min(age)));
                SessionPin {
                    started,
                    issued,
                    expires: at(1),
                    revision: Revision(revision),
                    assigned: Revision(assigned),
                    moves,
                    placed: moves > 0,
                    last_move: (moves > 0 && told).then(|| LastMove {
                        from: GroupRef::Known(id("before", 1)),
                        at: issued,
                        cause: MoveCause::GroupDown.into(),
                    }),
                    ..SessionPin::new(
                        session(bits),
                        id(&name, generation),
                        Revision(1),
                        started,
                        lifetimes(),
                    )
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i6_arbitrary_bytes_are_no_pin(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let opened = ours().open(&bytes, at(0), lifetimes());
        prop_assert!(opened.is_err());
        prop_assert_eq!(opened == Err(Fault::Oversize), bytes.len() > MAX_TOKEN);
    }

    #[test]
    fn i6_text_of_the_form_of_a_token_is_no_pin(text in "[A-Za-z0-9_=.-]{0,500}") {
        prop_assert!(ours().open(text.as_bytes(), at(0), lifetimes()).is_err());
    }

    #[test]
    fn i6_a_changed_token_is_no_pin(
        pin in any_pin(),
        from in any::<prop::sample::Index>(),
        cut in 0..4_usize,
        put in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let token = ours().seal(&pin).token.into_bytes();
        let mut changed = token.clone();
        let from = from.index(token.len());
        changed.splice(from..(from + cut).min(token.len()), put);
        if changed != token {
            prop_assert!(ours().open(&changed, at(0), lifetimes()).is_err());
        }
    }

    #[test]
    fn i6_parts_of_two_tokens_make_no_third(one in any_pin(), two in any_pin(), mix in 1..7_u8) {
        let rotated = codec("checkout", &[("k2", 2), ("k1", 1)]);
        let (one, two) = (ours().seal(&one).token, rotated.seal(&two).token);
        let parts = one.split('.').zip(two.split('.')).enumerate();
        let mixed: Vec<&str> =
            parts.map(|(n, (a, b))| if mix & (1 << n) == 0 { a } else { b }).collect();
        let mixed = mixed.join(".");
        if mixed != one && mixed != two {
            prop_assert!(ours().open(mixed.as_bytes(), at(0), lifetimes()).is_err());
        }
    }

    #[test]
    fn a_sealed_pin_opens_as_it_was_but_for_its_groups_name(pin in any_pin()) {
        let opened = ours().open(ours().seal(&pin).token.as_bytes(), at(0), lifetimes());
        let opened = opened.unwrap();
        prop_assert_eq!(opened.key.as_str(), "k1");
        prop_assert!(matches!(opened.pin.group, GroupRef::Unknown(_)));
        let told = opened.pin.last_move.clone().map(|last| (last.at, last.cause));
        prop_assert_eq!(told, pin.last_move.clone().map(|last| (last.at, last.cause)));
        let named = SessionPin {
            group: pin.group.clone(),
            last_move: pin.last_move.clone(),
            ..opened.pin
        };
        prop_assert_eq!(named, pin);
    }
}
