//! What a pin carries of experiments.

use super::{experiment, set};
use crate::experiment::codes::ArmCode;
use crate::fixtures::{at, codec, endpoint, id, lifetimes, session};
use crate::{
    ArmCodes, Experiment, LastMove, MAX_CARRIED, MAX_EXPERIMENTS, MAX_TOKEN, MoveCause, Outcomes,
    PinCodec, Revision, RowCodec, RowKey, SessionPin, Terms,
};

fn pin() -> SessionPin {
    let revision = Revision(crate::fixtures::START + 1000);
    SessionPin::new(session(7), id("a", 1), revision, at(0), lifetimes())
}

fn eight() -> Vec<Experiment> {
    let all = 0..MAX_EXPERIMENTS;
    all.map(|n| experiment(&format!("exp{n}"), &[("a", 1)]))
        .collect()
}

/// The first arm of each.
fn codes(experiments: &[Experiment]) -> ArmCodes {
    let first = |e: &Experiment| e.code_of(e.arms().first().unwrap());
    ArmCodes::new(experiments.iter().map(first))
}

fn longest_names() -> PinCodec {
    codec(&"s".repeat(32), &[(&"k".repeat(16), 1)])
}

fn returned(codec: &PinCodec, pin: &SessionPin) -> SessionPin {
    let token = codec.seal(pin).token;
    assert!(token.len() <= MAX_TOKEN, "{} bytes", token.len());
    codec
        .open(token.as_bytes(), at(1), lifetimes())
        .unwrap()
        .pin
}

/// A session that was moved, has an endpoint, and of which everything is known.
fn richest() -> SessionPin {
    let revision = Revision(crate::fixtures::START + 2000);
    let moved = pin().moved(id("b", 1), MoveCause::Aborted, revision, at(0), lifetimes());
    SessionPin {
        arms: codes(&eight()),
        ..moved.at_endpoint(Some(endpoint("10.0.0.1:8080")))
    }
}

#[test]
fn arms_come_back_as_they_were_written() {
    let codec = codec("checkout", &[("2026-11", 1)]);
    for count in 0..=MAX_EXPERIMENTS {
        let arms = codes(eight().get(..count).unwrap());
        let returned = returned(
            &codec,
            &SessionPin {
                arms: arms.clone(),
                ..pin()
            },
        );
        assert_eq!(returned.arms, arms, "{count} experiments");
    }
}

#[test]
fn all_experiments_fit_beside_a_move() {
    let codec = codec("checkout", &[("2026-11", 1)]);
    let moved = richest().at_endpoint(None);
    assert_eq!(returned(&codec, &moved).arms, codes(&eight()));
    let without = SessionPin {
        arms: ArmCodes::default(),
        ..moved.clone()
    };
    let cost = codec.seal(&moved).token.len() - codec.seal(&without).token.len();
    assert_eq!(cost, 69, "bytes of eight experiments");
    // and all but one with an endpoint as well
    assert_eq!(returned(&codec, &richest()).arms.entries().len(), 7);
    let fit = returned(&longest_names(), &moved).arms.entries().len();
    assert_eq!(fit, 5, "with the longest names");
}

#[test]
fn arms_that_do_not_fit_are_left_out_from_the_end_and_the_pin_says_so() {
    let codec = longest_names();
    let returned = returned(&codec, &richest());
    let kept = returned.arms.entries().len();
    assert!(
        returned.arms.is_cut() && kept < MAX_EXPERIMENTS,
        "{:?}",
        returned.arms
    );
    assert_eq!(
        returned.arms.entries(),
        codes(&eight()).entries().get(..kept).unwrap()
    );
    assert!(returned.endpoint.is_some(), "an endpoint outlasts arms");
    let worst = SessionPin {
        outcomes: Outcomes::from_bits(u16::MAX),
        released: true,
        last_move: richest().last_move.map(|last| LastMove {
            cause: MoveCause::GroupDown.into(),
            ..last
        }),
        ..richest()
    };
    assert!(codec.seal(&worst).token.len() <= MAX_TOKEN);
}

#[test]
fn renewals_moves_and_seen_moves_keep_the_arms() {
    let with = SessionPin {
        arms: codes(&eight()),
        ..pin()
    };
    let (revision, now) = (Revision(crate::fixtures::START + 2000), at(900));
    for (what, later) in [
        ("renewed", with.renewed(revision, now, lifetimes())),
        (
            "moved",
            with.moved(id("b", 1), MoveCause::Aborted, revision, now, lifetimes()),
        ),
        (
            "a step",
            with.drawn_anew(id("b", 1), revision, revision, now, lifetimes()),
        ),
        ("seen", with.clone().move_seen()),
        ("let go", with.clone().released()),
        ("streaming", with.clone().streaming(lifetimes())),
    ] {
        assert_eq!(later.arms, with.arms, "{what}");
    }
}

#[test]
fn a_row_carries_what_the_pin_does() {
    let rows = RowCodec::new("checkout".parse().unwrap());
    let key = RowKey::Session(session(7));
    let terms = Terms {
        now: at(1),
        lifetimes: lifetimes(),
    };
    let cut = codes(&eight()).without_last();
    for arms in [ArmCodes::default(), codes(&eight()), cut] {
        let with = SessionPin { arms, ..pin() };
        let row = rows.encode(key, &with);
        assert_eq!(rows.decode(key, row.as_bytes(), terms), Ok(with), "{row}");
    }
}

#[test]
fn a_claim_of_another_form_is_no_arm() {
    let good = codes(&eight()).encode().unwrap();
    let decoded = |text: &str| ArmCodes::decode(text);
    assert_eq!(decoded(&good), codes(&eight()));
    let long = "A".repeat(MAX_CARRIED * 6 + 6);
    for bad in ["", "A", "AAAA", "a=b", "ÄÖÜ", "~~", long.as_str()] {
        assert!(decoded(bad).is_empty(), "{bad:?}: {:?}", decoded(bad));
    }
    let twice = ArmCodes::new([ArmCode::new(1, 1), ArmCode::new(1, 2)]);
    assert_eq!(twice.entries().len(), 1, "one experiment has one arm");
}

#[test]
fn no_more_entries_are_carried_than_there_is_room_for() {
    let many = ArmCodes::new((0..100).map(|n| ArmCode::new(n, 0)));
    assert_eq!(many.entries().len(), MAX_CARRIED);
    assert_eq!(ArmCodes::decode(&many.encode().unwrap()), many);
    let first = set(eight());
    assert_eq!(first.as_slice().len(), MAX_EXPERIMENTS);
}
