//! What can be said about the way to etcd.

use std::fmt;
use std::time::Duration;

use etcd_client::ConnectOptions;
use http::Uri;

/// How etcd is asked.
#[derive(Clone)]
pub struct EtcdOptions {
    user: Option<(String, String)>,
    request_timeout: Duration,
}

impl EtcdOptions {
    /// No user, and one second for a request.
    #[must_use]
    pub fn new() -> Self {
        Self {
            user: None,
            request_timeout: Duration::from_secs(1),
        }
    }

    /// Logs in with that name and password. Neither `Debug` nor an error shows the password.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// How long a call may take, connecting and logging in included (1 s if not set).
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.request_timeout
    }

    pub(crate) fn connect(&self) -> ConnectOptions {
        let options = ConnectOptions::new()
            .with_connect_timeout(self.request_timeout)
            // a member that has lost the others answers with an error and ends its watches
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        match &self.user {
            Some((name, password)) => options.with_user(name, password),
            None => options,
        }
    }
}

impl Default for EtcdOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for EtcdOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdOptions")
            .field("user", &self.user.as_ref().map(|(name, _)| name))
            .field("request_timeout", &self.request_timeout)
            .finish_non_exhaustive()
    }
}

/// A place that cannot be one of etcd.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEtcd {
    /// There is no endpoint.
    #[error("etcd needs at least one endpoint")]
    NoEndpoint,
    /// An endpoint is no URL of the form `http://HOST:PORT`.
    #[error("endpoint {number} of etcd is not of the form http://HOST:PORT")]
    Endpoint {
        /// Which one, from 1; the text is not shown, since it can hold a password.
        number: usize,
    },
    /// An endpoint asks for TLS.
    #[error("endpoint {number} of etcd is https, which this build cannot speak: use http")]
    Tls {
        /// Which one, from 1.
        number: usize,
    },
    /// An endpoint carries a user or a password.
    #[error("endpoint {number} of etcd holds a user, which belongs into an option of its own")]
    User {
        /// Which one, from 1.
        number: usize,
    },
    /// The prefix names no place.
    #[error("the prefix of etcd's keys is empty")]
    Prefix,
}

pub(crate) fn check_endpoint(number: usize, endpoint: &str) -> Result<(), InvalidEtcd> {
    let invalid = InvalidEtcd::Endpoint { number };
    let url: Uri = endpoint.parse().map_err(|_| invalid.clone())?;
    let authority = url.authority().ok_or(invalid.clone())?;
    if authority.as_str().contains('@') {
        return Err(InvalidEtcd::User { number });
    }
    match url.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(InvalidEtcd::Tls { number }),
        _ => return Err(invalid),
    }
    match (authority.port(), url.path(), url.query()) {
        (Some(_), "/", None) => Ok(()),
        _ => Err(invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::{EtcdOptions, InvalidEtcd, check_endpoint};

    #[test]
    fn an_endpoint_is_a_scheme_a_host_and_a_port() {
        for good in [
            "http://127.0.0.1:2379",
            "http://etcd:2379/",
            "http://[::1]:1",
        ] {
            assert_eq!(check_endpoint(1, good), Ok(()), "{good}");
        }
        let number = 2;
        for wrong in [
            "",
            "etcd",
            "etcd:2379",
            "http://etcd",
            "http://etcd:2379/path",
            "http://etcd:2379/?q",
            "ftp://etcd:2379",
            "http://etcd:70000",
            "http://e tcd:2379",
        ] {
            let refused = Err(InvalidEtcd::Endpoint { number });
            assert_eq!(check_endpoint(number, wrong), refused, "{wrong}");
        }
        let refused = Err(InvalidEtcd::Tls { number });
        assert_eq!(check_endpoint(number, "https://etcd:2379"), refused);
    }

    #[test]
    fn a_password_is_neither_accepted_in_an_endpoint_nor_shown() {
        let refused = check_endpoint(1, "http://root:hunter2@etcd:2379").unwrap_err();
        assert_eq!(refused, InvalidEtcd::User { number: 1 });
        let options = EtcdOptions::new().user("root", "hunter2");
        for shown in [format!("{refused} {refused:?}"), format!("{options:?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
