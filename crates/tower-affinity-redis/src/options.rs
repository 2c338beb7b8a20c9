//! What can be said about the way to Redis.

use std::fmt;
use std::time::Duration;

use redis::ConnectionAddr;

/// How Redis is asked.
#[derive(Clone)]
pub struct RedisOptions {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: u32,
    pub(crate) response_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    #[cfg(feature = "cluster")]
    pub(crate) cluster: bool,
}

impl RedisOptions {
    /// No user and no password, database 0, 100 ms for an answer, one second for a connection.
    #[must_use]
    pub fn new() -> Self {
        Self {
            user: None,
            password: None,
            database: 0,
            response_timeout: Duration::from_millis(100),
            connect_timeout: Duration::from_secs(1),
            #[cfg(feature = "cluster")]
            cluster: false,
        }
    }

    /// Logs in with that password, and as Redis' default user unless one is set. Neither `Debug` nor
    /// an error shows it.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Logs in as that user; it needs a [`password`](Self::password).
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// The number of the database (0 if not set); a cluster has only that.
    #[must_use]
    pub fn database(mut self, database: u32) -> Self {
        self.database = database;
        self
    }

    /// How long an answer may take before its connection is doubted (100 ms if not set). A request
    /// waits less: see the guard around every store.
    #[must_use]
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// How long a connection may take, logging in included (1 s if not set).
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Whether the servers are nodes of one cluster (not if not set).
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn cluster(mut self, cluster: bool) -> Self {
        self.cluster = cluster;
        self
    }

    #[cfg(feature = "cluster")]
    pub(crate) fn is_cluster(&self) -> bool {
        self.cluster
    }

    #[cfg(not(feature = "cluster"))]
    pub(crate) fn is_cluster(&self) -> bool {
        false
    }
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisOptions")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("response_timeout", &self.response_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}

/// A place that cannot be one of Redis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRedis {
    /// There is no server.
    #[error("the store needs at least one server")]
    NoServer,
    /// There are several servers, which make no cluster.
    #[error("several servers are nodes of a cluster, and this store is none")]
    NoCluster,
    /// A server is no URL of the form `redis://HOST:PORT`.
    #[error("server {number} is not of the form redis://HOST:PORT")]
    Server {
        /// Which one, from 1; the text is not shown, since it can hold a password.
        number: usize,
    },
    /// A server asks for TLS.
    #[error("server {number} is rediss, which this build cannot speak: use redis")]
    Tls {
        /// Which one, from 1.
        number: usize,
    },
    /// A server carries a user or a password.
    #[error("server {number} holds a user or a password, which belong into options of their own")]
    User {
        /// Which one, from 1.
        number: usize,
    },
    /// A user without a password.
    #[error("a user needs a password")]
    UserAlone,
    /// A cluster has only the database 0.
    #[error("a cluster has no database {0}")]
    Database(u32),
    /// The prefix names no place, or would change which slot a key lies in.
    #[error("the prefix of the keys is empty, longer than 128 bytes, or has a brace")]
    Prefix,
}

pub(crate) fn check_prefix(prefix: &str) -> Result<(), InvalidRedis> {
    let is_one = (1..=128).contains(&prefix.len()) && !prefix.contains(['{', '}']);
    is_one.then_some(()).ok_or(InvalidRedis::Prefix)
}

/// Reads `redis://HOST:PORT`, or `rediss://HOST:PORT` where TLS is built in.
pub(crate) fn parse_server(number: usize, url: &str) -> Result<ConnectionAddr, InvalidRedis> {
    let invalid = InvalidRedis::Server { number };
    let (scheme, rest) = url.split_once("://").ok_or(invalid.clone())?;
    let is_tls = match scheme {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" if cfg!(feature = "tls") => true,
        "rediss" | "valkeys" => return Err(InvalidRedis::Tls { number }),
        _ => return Err(invalid),
    };
    if rest.contains('@') {
        return Err(InvalidRedis::User { number });
    }
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = authority.rsplit_once(':').ok_or(invalid.clone())?;
    let port = port.parse().map_err(|_| invalid.clone())?;
    let host = match host.strip_prefix('[') {
        Some(host) => host.strip_suffix(']').filter(|host| host.contains(':')),
        None => Some(host).filter(|host| !host.contains(':')),
    };
    let is_host =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    let host = host.filter(|host| !host.is_empty() && host.bytes().all(is_host));
    let host = host.ok_or(invalid)?.to_owned();
    Ok(if is_tls {
        ConnectionAddr::TcpTls {
            host,
            port,
            insecure: false,
            tls_params: None,
        }
    } else {
        ConnectionAddr::Tcp(host, port)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_scheme_a_host_and_a_port() {
        for (good, host, port) in [
            ("redis://127.0.0.1:6379", "127.0.0.1", 6379),
            ("valkey://store-1.shop_x:1/", "store-1.shop_x", 1),
            ("redis://[::1]:6379", "::1", 6379),
        ] {
            let address = ConnectionAddr::Tcp(host.into(), port);
            assert_eq!(parse_server(1, good), Ok(address), "{good}");
        }
        let number = 2;
        for wrong in [
            "",
            "redis",
            "redis:6379",
            "redis://store",
            "redis://:6379",
            "redis://[]:6379",
            "redis://::1:6379",
            "redis://store:70000",
            "redis://store:6379/1",
            "redis://st ore:6379",
            "redis://store:6379?protocol=resp3",
            "unix:///run/redis.sock",
            "http://store:6379",
        ] {
            let refused = Err(InvalidRedis::Server { number });
            assert_eq!(parse_server(number, wrong), refused, "{wrong}");
        }
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn tls_that_is_not_built_in_is_refused_by_its_name() {
        let refused = Err(InvalidRedis::Tls { number: 1 });
        assert_eq!(parse_server(1, "rediss://store:6379"), refused);
    }

    #[test]
    fn a_password_is_neither_accepted_in_a_server_nor_shown() {
        let refused = parse_server(1, "redis://user:hunter2@store:6379").unwrap_err();
        assert_eq!(refused, InvalidRedis::User { number: 1 });
        let options = RedisOptions::new().user("shop").password("hunter2");
        for shown in [format!("{refused} {refused:?}"), format!("{options:?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn a_prefix_cannot_change_the_slot_of_a_key() {
        assert_eq!(check_prefix("affinity:shop"), Ok(()));
        for wrong in ["", "a{b", "a}b", &"x".repeat(129)] {
            assert_eq!(check_prefix(wrong), Err(InvalidRedis::Prefix), "{wrong}");
        }
    }
}
