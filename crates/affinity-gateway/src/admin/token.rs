//! The admin token: what changing calls have to show.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The least length of a token in bytes of text.
const MIN_TOKEN: usize = 32;

/// The token, kept as its hash. `Debug` shows nothing of it.
#[derive(Clone)]
pub struct AdminToken([u8; 32]);

impl std::fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdminToken(…)")
    }
}

/// A token that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or made.
    #[error("the admin token file {path} cannot be {action}")]
    Io {
        /// Where it is.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The token could be guessed.
    #[error("the admin token in {0} is shorter than {MIN_TOKEN} characters")]
    Short(PathBuf),
    /// The system's random generator does not answer.
    #[error("the system's random generator does not answer")]
    Random(#[from] getrandom::Error),
}

impl AdminToken {
    /// Reads the token, or makes the file with a fresh one that only its owner can read. A file
    /// that others can read is taken with a warning in the log.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or made, or holds a short token.
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        let failed = |action| {
            move |source| TokenError::Io {
                path: path.to_owned(),
                action,
                source,
            }
        };
        let mut random = [0; 32];
        getrandom::fill(&mut random)?;
        let fresh = URL_SAFE_NO_PAD.encode(random);
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        match created {
            Ok(mut file) => {
                writeln!(file, "{fresh}").map_err(failed("written"))?;
                file.sync_all().map_err(failed("written"))?;
                Ok(Self::of(&fresh))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = fs::read_to_string(path).map_err(failed("read"))?;
                let token = text.trim();
                if token.len() < MIN_TOKEN {
                    return Err(TokenError::Short(path.to_owned()));
                }
                let mode = fs::metadata(path)
                    .map_err(failed("read"))?
                    .permissions()
                    .mode();
                if mode & 0o077 != 0 {
                    // no refusal: mounted secrets often come like this
                    let path = path.display();
                    tracing::warn!(%path, "the admin token can be read by others; chmod 600");
                }
                Ok(Self::of(token))
            }
            Err(error) => Err(failed("made")(error)),
        }
    }

    /// Whether `shown` is the token. Hashes are compared, so the time tells nothing of the token.
    #[must_use]
    pub fn matches(&self, shown: &str) -> bool {
        self.0 == Self::of(shown).0
    }

    fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}
