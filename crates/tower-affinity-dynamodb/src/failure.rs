//! Errors that tell what is wrong, and neither a secret nor a key nor a session.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use thiserror::Error;
use tower_affinity_core::StoreError;

/// What is wrong, without what a server or the SDK says in its own words.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("no answer in time")]
    Late,
    #[error("no connection")]
    Connection,
    #[error("DynamoDB refuses: {0}")]
    Service(String),
    #[error("the answer is none of DynamoDB's")]
    Answer,
    #[error("the request cannot be made")]
    Request,
    #[error("the call was broken off")]
    Broken,
    #[error("rows that cannot be read come again and again")]
    Rows,
    #[error("the table is not ready yet")]
    Table,
}

impl<E: ProvideErrorMetadata, R> From<&SdkError<E, R>> for Failure {
    fn from(error: &SdkError<E, R>) -> Self {
        match error {
            SdkError::TimeoutError(_) => Self::Late,
            SdkError::DispatchFailure(failure) if failure.is_timeout() => Self::Late,
            SdkError::DispatchFailure(_) => Self::Connection,
            SdkError::ConstructionFailure(_) => Self::Request,
            SdkError::ServiceError(error) => match error.err().code() {
                Some(code) => Self::Service(one_word(code)),
                None => Self::Answer,
            },
            _ => Self::Answer,
        }
    }
}

/// The name of an exception, cut if it is none.
fn one_word(code: &str) -> String {
    let is_of_name = |letter: &char| letter.is_ascii_alphanumeric();
    code.chars().take_while(is_of_name).take(64).collect()
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        Self::new(failure)
    }
}

pub(crate) fn failed<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> StoreError {
    Failure::from(error).into()
}
