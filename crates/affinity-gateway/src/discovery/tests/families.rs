//! Facts about the two kinds of addresses.

use std::net::IpAddr;
use std::time::Duration;

use super::super::families::{Answer, Families};
use super::super::list::Trouble;
use super::list;
use crate::control::Failure;

const FOUR: &str = "10.0.0.7";
const SIX: &str = "fd00::8";

fn has(addresses: &[&str], seconds: u64) -> Answer {
    let addresses: Vec<IpAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
    Ok((addresses, Duration::from_secs(seconds)))
}

fn fails() -> Answer {
    Err(Trouble::new(Failure::Error, "it cannot tell"))
}

#[test]
fn both_kinds_are_endpoints_for_the_shorter_of_their_times() {
    let mut families = Families::default();
    let (found, ttl) = families.answered([has(&[FOUR], 30), has(&[SIX], 5)], 80);
    assert_eq!(found.endpoints, list(&["10.0.0.7:80", "[fd00::8]:80"]));
    assert_eq!((found.trouble, ttl), (None, Duration::from_secs(5)));
}

#[test]
fn a_kind_that_fails_keeps_its_addresses() {
    let mut families = Families::default();
    families.answered([has(&[FOUR], 30), has(&[SIX], 30)], 80);
    let (found, _) = families.answered([has(&["10.0.0.9"], 30), fails()], 80);
    assert_eq!(found.endpoints, list(&["10.0.0.9:80", "[fd00::8]:80"]));
    let failure = found.trouble.map(|trouble| trouble.failure);
    assert_eq!(failure, Some(Failure::Error), "it is not told");
    let (found, _) = families.answered([has(&["10.0.0.9"], 30), has(&[], 30)], 80);
    assert_eq!(found.endpoints, list(&["10.0.0.9:80"]), "it has said so");
    assert_eq!(found.trouble, None);
}

#[test]
fn a_kind_that_was_never_there_is_missed_by_nobody() {
    let (found, _) = Families::default().answered([has(&[FOUR], 30), fails()], 80);
    assert_eq!(found.endpoints, list(&["10.0.0.7:80"]));
    assert_eq!(found.trouble, None);
    let (found, _) = Families::default().answered([has(&[], 30), fails()], 80);
    assert!(found.endpoints.is_empty());
    assert!(found.trouble.is_some(), "nobody has said that it is empty");
}

#[test]
fn an_empty_answer_is_forgotten() {
    let mut families = Families::default();
    families.answered([has(&[FOUR], 30), has(&[SIX], 30)], 80);
    let (found, _) = families.answered([has(&[], 30), has(&[], 30)], 80);
    assert!(found.endpoints.is_empty(), "the list is held elsewhere");
    let (found, _) = families.answered([has(&[FOUR], 30), fails()], 80);
    assert_eq!(found.endpoints, list(&["10.0.0.7:80", "[fd00::8]:80"]));
}
