//! `listen.tls`: the certificate that clients see, and the keys of session tickets.

use std::path::PathBuf;

use tower_affinity::core::{KeyError, KeyId, KeyKind};

use super::Sources;
use super::document::MAX_BYTES;
use super::field::Field;
use super::secret::Secret;
use super::section::Section;
use super::source::{HOLDS, KeySource, read_file, secret};
use crate::serve::tls::{Identity, IdentityError};

/// How the gateway ends TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsSettings {
    /// The file of the certificates, as an absolute path.
    pub cert: PathBuf,
    /// The file of the private key, as an absolute path.
    pub key: PathBuf,
    /// What both of them held.
    pub identity: Identity,
    /// The keys of session tickets, at most 16; the first one makes tickets, all read them. None:
    /// tickets are of this process only.
    pub ticket_keys: Vec<TicketKey>,
}

/// One key of session tickets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TicketKey {
    /// Where it was read.
    pub source: KeySource,
    /// At least 32 bytes.
    pub secret: Secret,
}

impl TlsSettings {
    /// Every file that was read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let tickets = self.ticket_keys.iter().filter_map(|key| match &key.source {
            KeySource::File(path) => Some(path.clone()),
            KeySource::Env(_) => None,
        });
        [self.cert.clone(), self.key.clone()]
            .into_iter()
            .chain(tickets)
            .collect()
    }
}

pub(super) fn read(tls: &Section<'_>, sources: &Sources<'_>) -> Option<TlsSettings> {
    let ticket_keys = tls
        .field("ticket_keys")
        .map(|field| ticket_keys(&field.unseen(), sources));
    let cert = tls.required("cert", CERT);
    let key = tls.required("key", KEY);
    tls.finish();
    let cert = pem(cert?, sources, CERT);
    let key = pem(key?, sources, KEY);
    let (cert, key) = (cert?, key?);
    match Identity::from_pem(&cert.content, &key.content) {
        Ok(identity) => Some(TlsSettings {
            cert: cert.path,
            key: key.path,
            identity,
            ticket_keys: ticket_keys.unwrap_or_default(),
        }),
        Err(error @ IdentityError::Certificate(_)) => {
            cert.field
                .refuse(format!("cannot be used: {error}; accepted: {CERT}"));
            None
        }
        Err(error) => {
            key.field
                .refuse(format!("cannot be used: {error}; accepted: {KEY}"));
            None
        }
    }
}

/// A file that the configuration names, and what it holds.
struct Pem<'a> {
    field: Field<'a>,
    path: PathBuf,
    content: Vec<u8>,
}

fn pem<'a>(field: Field<'a>, sources: &Sources<'_>, accepted: &str) -> Option<Pem<'a>> {
    let path = sources.field_path(&field)?;
    match read_file(&path, MAX_BYTES as u64) {
        Ok(content) => Some(Pem {
            field,
            path,
            content,
        }),
        Err(why) => {
            field.refuse(format!("cannot be read: {why}; accepted: {accepted}"));
            None
        }
    }
}

fn ticket_keys(field: &Field<'_>, sources: &Sources<'_>) -> Vec<TicketKey> {
    let items = field.items(MAX_TICKET_KEYS, FORM).unwrap_or_default();
    let mut keys: Vec<TicketKey> = Vec::new();
    for item in &items {
        let Some(text) = item.text(FORM) else {
            continue;
        };
        let Some(held) = KeySource::read(text, sources) else {
            // whatever stands here may be the key itself
            item.refuse(format!("is no source; accepted: {FORM}"));
            continue;
        };
        let key = held.and_then(|(source, held)| {
            // only to be named in what is wrong with it
            let id: KeyId = "ticket"
                .parse()
                .map_err(|error: KeyError| error.to_string())?;
            let secret = secret(KeyKind::Hs256, &id, &held)?;
            Ok(TicketKey { source, secret })
        });
        match key {
            Ok(key) if keys.iter().any(|other| other.secret == key.secret) => {
                item.refuse("holds the same key as one before it; accepted: each key once");
            }
            Ok(key) => keys.push(key),
            Err(why) => item.refuse(format!("cannot be used: {why}; accepted: {HOLDS}")),
        }
    }
    keys
}

const CERT: &str = "a file of PEM certificates, the server's own first";
const KEY: &str = "a PEM file with the private key of the certificate";
const FORM: &str = "\"file:PATH\" or \"env:NAME\"";
const MAX_TICKET_KEYS: usize = 16;
