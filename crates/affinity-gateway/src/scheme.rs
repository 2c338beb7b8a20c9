//! What a request came over.

use http::HeaderValue;

/// The scheme of the connection that a request came on. The listener puts it into the extensions of
/// requests that came over TLS; without it a request came over plain HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Plain TCP.
    #[default]
    Http,
    /// TLS that the gateway ended.
    Https,
}

impl Scheme {
    pub(crate) const fn value(self) -> HeaderValue {
        match self {
            Self::Http => HeaderValue::from_static("http"),
            Self::Https => HeaderValue::from_static("https"),
        }
    }
}
