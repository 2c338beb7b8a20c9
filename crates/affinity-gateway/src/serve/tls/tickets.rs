//! Session tickets that every replica with the same keys can read.
//!
//! ```text
//! name of the key (16 bytes) | nonce (12) | AES-256-GCM-SIV of (unix time (8) | session) | tag (16)
//! ```
//!
//! The name and the cipher's key both come from the configured secret by HKDF, each under a label
//! of its own. Nonces are random, and replicas do not know of each other's: the SIV mode stays safe
//! if two of them are ever the same, where plain GCM would lose its key.

use std::{fmt, sync::Arc};

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    error::Unspecified,
    hkdf,
};
use rustls::server::ProducesTickets;
use thiserror::Error;
use tower_affinity::core::Clock;

/// Makes tickets with the first of its keys and reads those of all.
///
/// A ticket that was made with another key, changed, cut or too old is none: the client gets a
/// full handshake and a fresh ticket, never an error.
pub struct SharedTickets {
    keys: Vec<TicketKey>,
    clock: Arc<dyn Clock>,
}

/// Secrets from which no tickets can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TicketError {
    /// There is none.
    #[error("there is no key for tickets")]
    NoKey,
    /// The cryptography failed.
    #[error("no key for tickets can be derived")]
    Derivation,
}

struct TicketKey {
    name: [u8; NAME],
    cipher: RandomizedNonceKey,
}

impl SharedTickets {
    /// The first secret makes tickets, all of them read; each should hold 32 random bytes. `clock`
    /// says when a ticket is too old.
    ///
    /// # Errors
    ///
    /// If there is no secret.
    pub fn new<S: AsRef<[u8]>>(
        secrets: impl IntoIterator<Item = S>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TicketError> {
        let keys = secrets
            .into_iter()
            .map(|secret| TicketKey::derive(secret.as_ref()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|Unspecified| TicketError::Derivation)?;
        if keys.is_empty() {
            return Err(TicketError::NoKey);
        }
        Ok(Self { keys, clock })
    }

    fn now(&self) -> u64 {
        self.clock.now().as_secs()
    }
}

impl ProducesTickets for SharedTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }

    fn encrypt(&self, session: &[u8]) -> Option<Vec<u8>> {
        let key = self.keys.first()?;
        let mut sealed = self.now().to_be_bytes().to_vec();
        sealed.extend_from_slice(session);
        key.seal(sealed).ok()
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (name, sealed) = ticket.split_first_chunk::<NAME>()?;
        let key = self.keys.iter().find(|key| key.name == *name)?;
        let opened = key.open(sealed)?;
        let (made, session) = opened.split_first_chunk()?;
        // made ahead of our time: the clock of another replica is
        let age = self.now().saturating_sub(u64::from_be_bytes(*made));
        (age <= u64::from(LIFETIME)).then(|| session.to_vec())
    }
}

impl TicketKey {
    fn derive(secret: &[u8]) -> Result<Self, Unspecified> {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(secret);
        let derive = |label: &[u8]| {
            let mut bytes = [0; DERIVED];
            root.expand(&[label], hkdf::HKDF_SHA256)?.fill(&mut bytes)?;
            Ok::<_, Unspecified>(bytes)
        };
        let named = derive(b"affinity session ticket, name of the key")?;
        let name = named.first_chunk::<NAME>().ok_or(Unspecified)?;
        let cipher = derive(b"affinity session ticket, AES-256-GCM-SIV")?;
        Ok(Self {
            name: *name,
            cipher: RandomizedNonceKey::new(&AES_256_GCM_SIV, &cipher)?,
        })
    }

    fn seal(&self, mut sealed: Vec<u8>) -> Result<Vec<u8>, Unspecified> {
        let aad = Aad::from(self.name);
        let nonce = self.cipher.seal_in_place_append_tag(aad, &mut sealed)?;
        Ok([self.name.as_slice(), nonce.as_ref(), &sealed].concat())
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut opened = sealed.to_vec();
        let length = {
            let nonce = Nonce::from(nonce);
            let aad = Aad::from(self.name);
            self.cipher
                .open_in_place(nonce, aad, &mut opened)
                .ok()?
                .len()
        };
        opened.truncate(length);
        Some(opened)
    }
}

impl fmt::Debug for SharedTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTickets")
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

const NAME: usize = 16;
/// What HKDF with SHA-256 gives, and AES-256 takes.
const DERIVED: usize = 32;
/// 12 hours in seconds: a visitor of this morning resumes in the evening. That is three times the
/// default `max_age` of a pin, so the session at the application ends first, and far below the
/// seven days that TLS 1.3 allows: who steals a key can read what TLS 1.2 clients sent within that
/// time of its tickets.
const LIFETIME: u32 = 12 * 60 * 60;
