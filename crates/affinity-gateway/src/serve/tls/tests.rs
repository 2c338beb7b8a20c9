//! Pairs of certificate and key, and tickets, as bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rcgen::{CertificateParams, KeyPair};
use tower_affinity::core::{Clock, Timestamp};

use super::*;

fn pair() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2100, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

#[test]
fn a_pair_tells_when_its_certificate_ends() {
    let (certificate, key) = pair();
    let identity = Identity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
    // 2100-01-01T00:00:00Z
    assert_eq!(identity.not_after(), Duration::from_secs(4_102_444_800));
    let shown = format!("{identity:?}");
    assert!(!shown.contains("key"), "{shown}");
}

#[test]
fn what_is_no_pair_says_which_half_is_wrong() {
    let ((certificate, key), (_, other)) = (pair(), pair());
    let read = |certificate: &str, key: &str| {
        Identity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap_err()
    };
    assert_eq!(read(&certificate, &other), IdentityError::Mismatch);
    let damaged = certificate.replacen("MII", "AAA", 1);
    for wrong in ["", "text", &key, &damaged, &certificate[..200]] {
        let error = read(wrong, &key);
        assert!(matches!(error, IdentityError::Certificate(_)), "{error:?}");
    }
    let damaged = key.replacen("MI", "AA", 1);
    for wrong in ["", "text", &certificate, &damaged, &key[..100]] {
        let error = read(&certificate, wrong);
        assert!(matches!(error, IdentityError::Key(_)), "{error:?}");
        for line in key
            .lines()
            .filter(|line| line.len() > 20 && !line.starts_with('-'))
        {
            assert!(!error.to_string().contains(&line[..20]), "shows the key");
        }
    }
}

#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.load(Ordering::Relaxed))
    }
}

fn tickets(secrets: &[[u8; 32]], clock: &Arc<Hand>) -> SharedTickets {
    SharedTickets::new(secrets, Arc::clone(clock) as Arc<dyn Clock>).unwrap()
}

fn clock() -> Arc<Hand> {
    Arc::new(Hand(AtomicU64::new(1_800_000_000)))
}

const OLD: [u8; 32] = [1; 32];
const NEW: [u8; 32] = [2; 32];

#[test]
fn a_replica_with_the_same_key_reads_the_ticket() {
    let clock = clock();
    let (one, other) = (tickets(&[OLD], &clock), tickets(&[OLD], &clock));
    let ticket = one.encrypt(b"session").unwrap();
    assert_eq!(other.decrypt(&ticket).unwrap(), b"session");
    assert_ne!(
        ticket,
        one.encrypt(b"session").unwrap(),
        "a ticket tells that it is the same session"
    );
    assert!(
        !ticket.windows(7).any(|part| part == b"session"),
        "the session is readable"
    );
}

#[test]
fn a_rotation_reads_what_the_key_before_has_made() {
    let clock = clock();
    let (before, after) = (tickets(&[OLD], &clock), tickets(&[NEW, OLD], &clock));
    let gone = tickets(&[NEW], &clock);
    let ticket = before.encrypt(b"session").unwrap();
    assert_eq!(after.decrypt(&ticket).unwrap(), b"session");
    assert_eq!(gone.decrypt(&ticket), None, "the key is no longer there");
    let fresh = after.encrypt(b"session").unwrap();
    assert_eq!(gone.decrypt(&fresh).unwrap(), b"session", "made by the new");
}

#[test]
fn a_changed_ticket_is_none() {
    let clock = clock();
    let tickets = tickets(&[OLD, NEW], &clock);
    let ticket = tickets.encrypt(b"session").unwrap();
    for length in 0..ticket.len() {
        assert_eq!(tickets.decrypt(&ticket[..length]), None, "{length} bytes");
    }
    for bit in 0..ticket.len() * 8 {
        let mut changed = ticket.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(tickets.decrypt(&changed), None, "bit {bit}");
    }
    let longer = [ticket.as_slice(), &[0]].concat();
    assert_eq!(tickets.decrypt(&longer), None);
    assert_eq!(tickets.decrypt(&[0; 20_000]), None);
}

#[test]
fn a_ticket_ends_after_its_lifetime() {
    let clock = clock();
    let tickets = tickets(&[OLD], &clock);
    let ticket = tickets.encrypt(b"session").unwrap();
    let lifetime = u64::from(tickets.lifetime());
    clock.0.fetch_add(lifetime, Ordering::Relaxed);
    assert!(tickets.decrypt(&ticket).is_some(), "within its lifetime");
    clock.0.fetch_add(1, Ordering::Relaxed);
    assert_eq!(tickets.decrypt(&ticket), None, "after it");
    clock.0.fetch_sub(lifetime + 60, Ordering::Relaxed);
    assert!(
        tickets.decrypt(&ticket).is_some(),
        "made by a replica whose clock is ahead"
    );
}

#[test]
fn without_a_key_there_are_no_tickets() {
    let none = SharedTickets::new([[0; 0]; 0], clock() as Arc<dyn Clock>);
    assert_eq!(none.unwrap_err(), TicketError::NoKey);
}
