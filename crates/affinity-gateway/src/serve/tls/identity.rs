//! A certificate with its key.

use std::{fmt, time::Duration};

use rustls::{
    Error, InconsistentKeys,
    crypto::aws_lc_rs,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    sign::CertifiedKey,
};
use thiserror::Error as ThisError;
use x509_cert::{Certificate, der::Decode};

/// A chain of certificates and the key of its first one, which belong together.
///
/// `Debug` shows no key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    not_after: Duration,
}

/// What is wrong with a certificate or its key.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum IdentityError {
    /// The chain cannot be used.
    #[error("{0}")]
    Certificate(String),
    /// The key cannot be used.
    #[error("{0}")]
    Key(String),
    /// Both are fine and do not belong together.
    #[error("it is not the key of the certificate")]
    Mismatch,
}

impl Identity {
    /// Reads the chain, the server's own certificate first, and its key.
    ///
    /// # Errors
    ///
    /// If one of them is no PEM, is damaged or of an unknown kind, or if they do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|error| IdentityError::Certificate(reason(&error)))?;
        let Some(own) = chain.first() else {
            return Err(IdentityError::Certificate("holds no certificate".into()));
        };
        let not_after = not_after(own)
            .ok_or_else(|| IdentityError::Certificate("its first certificate is damaged".into()))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            pem::Error::NoItemsFound => IdentityError::Key("holds no private key".into()),
            error => IdentityError::Key(reason(&error)),
        })?;
        let provider = aws_lc_rs::default_provider();
        let signing = provider
            .key_provider
            .load_private_key(key.clone_key())
            // what rustls says could hold a part of the key
            .map_err(|_| IdentityError::Key("its private key is damaged or of no known kind".into()))?;
        match CertifiedKey::new(chain.clone(), signing).keys_match() {
            Ok(()) => {}
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                return Err(IdentityError::Mismatch);
            }
            Err(error) => return Err(IdentityError::Certificate(error.to_string())),
        }
        Ok(Self {
            chain,
            key,
            not_after,
        })
    }

    /// When the server's own certificate ends, as unix time.
    #[must_use]
    pub fn not_after(&self) -> Duration {
        self.not_after
    }

    pub(super) fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    pub(super) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}

fn not_after(certificate: &CertificateDer<'_>) -> Option<Duration> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let validity = certificate.tbs_certificate().validity();
    Some(validity.not_after.to_unix_duration())
}

/// Without the text that could not be read: it can be a part of a key.
fn reason(error: &pem::Error) -> String {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => "a section of it has no end",
        pem::Error::IllegalSectionStart { .. } => "the beginning of a section is broken",
        pem::Error::Base64Decode(_) => "a section of it is no base64",
        _ => "it is no PEM",
    };
    reason.to_owned()
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
            not_after: self.not_after,
        }
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain && self.key.secret_der() == other.key.secret_der()
    }
}

impl Eq for Identity {}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificates", &self.chain.len())
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}
