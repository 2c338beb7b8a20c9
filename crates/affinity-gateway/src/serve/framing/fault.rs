//! What is wrong with a request's bytes.

use http::StatusCode;

/// Why the bytes of a connection are no request, or more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Fault {
    /// It is not HTTP/1.1.
    Malformed,
    /// A line ends in LF alone, which some servers take for an end and others for a character.
    BareLf,
    /// A length beside a coding, two lengths, or one that is no number.
    Length,
    /// Two codings, or any in HTTP/1.0.
    Coding,
    /// A coding other than `chunked`: passed on it would name bytes that the endpoint never gets.
    UnknownCoding,
    /// Too many bytes or fields.
    TooLarge,
}

impl Fault {
    /// What the client is answered: never a 5xx, which would be told as a failure of ours, though
    /// RFC 9112 has 501 for a coding that is not known.
    pub(in crate::serve) const fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The answer's detail: fixed text, nothing of the request.
    pub(in crate::serve) const fn detail(self) -> &'static str {
        match self {
            Self::Malformed => "The request cannot be read.",
            Self::BareLf => "A line of the request does not end in CR LF.",
            Self::Length => "The length of the body is ambiguous.",
            Self::Coding => "The coding of the body is ambiguous.",
            Self::UnknownCoding => "The coding of the body is not known.",
            Self::TooLarge => "The head of the request is too large.",
        }
    }
}
