//! Errors that tell what is wrong, and neither a secret nor a key nor a session.

use redis::RedisError;
use thiserror::Error;
use tower_affinity_core::StoreError;

/// What is wrong, without what a server or a driver says in its own words.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("no answer in time")]
    Late,
    #[error("no connection: {0}")]
    Connection(std::io::ErrorKind),
    #[error("the server refuses: {0}")]
    Server(String),
    #[error("{0}")]
    Driver(String),
    #[error("the server's answer is none of a script of ours")]
    Answer,
    #[error("rows that cannot be read come again and again")]
    Rows,
}

impl From<&RedisError> for Failure {
    fn from(error: &RedisError) -> Self {
        if error.is_timeout() {
            return Self::Late;
        }
        let source = std::error::Error::source(error);
        if let Some(io) = source.and_then(|source| source.downcast_ref::<std::io::Error>()) {
            return Self::Connection(io.kind());
        }
        match error.code() {
            // one word of a server, cut if it is none
            Some(code) => Self::Server(code.chars().take(32).collect()),
            None => Self::Driver(error.category().to_owned()),
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        Self::new(failure)
    }
}

pub(crate) fn failed(error: &RedisError) -> StoreError {
    Failure::from(error).into()
}
