//! What can be said about the way to DynamoDB.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

/// How DynamoDB is asked.
///
/// The credentials are those of one user, or of a role with its session token. They are not renewed:
/// a process that gets others has to make a new store.
#[derive(Clone)]
pub struct DynamoOptions {
    pub(crate) region: String,
    pub(crate) key_id: String,
    pub(crate) secret: String,
    pub(crate) session_token: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) response_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) count_every: Option<Duration>,
}

impl DynamoOptions {
    /// The region's own endpoint, 250 ms for an answer, one second for a connection; live sessions are
    /// not counted. Neither `Debug` nor an error shows the secret access key.
    #[must_use]
    pub fn new(
        region: impl Into<String>,
        access_key_id: impl Into<String>,
        secret_access_key: impl Into<String>,
    ) -> Self {
        Self {
            region: region.into(),
            key_id: access_key_id.into(),
            secret: secret_access_key.into(),
            session_token: None,
            endpoint: None,
            response_timeout: Duration::from_millis(250),
            connect_timeout: Duration::from_secs(1),
            count_every: None,
        }
    }

    /// The session token of temporary credentials (none if not set). Neither `Debug` nor an error
    /// shows it.
    #[must_use]
    pub fn session_token(mut self, token: impl Into<String>) -> Self {
        self.session_token = Some(token.into());
        self
    }

    /// Where DynamoDB is, as `https://HOST`, or `http://HOST:PORT` for an endpoint on this machine or
    /// in a private network (that of the region if not set).
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// How long an answer may take before its connection is given up (250 ms if not set). A request
    /// waits less: see the guard around every store.
    #[must_use]
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// How long a connection may take, TLS included (1 s if not set).
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Has live sessions counted that often at most (not at all if not set), by a scan of the whole
    /// table. They are known while counts are at most ten seconds old.
    #[must_use]
    pub fn count_every(mut self, interval: Duration) -> Self {
        self.count_every = Some(interval);
        self
    }
}

impl fmt::Debug for DynamoOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoOptions")
            .field("region", &self.region)
            .field("key_id", &self.key_id)
            .field("endpoint", &self.endpoint)
            .field("response_timeout", &self.response_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("count_every", &self.count_every)
            .finish_non_exhaustive()
    }
}

/// A place that cannot be one of DynamoDB.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidDynamo {
    /// The table has a name that DynamoDB gives to none.
    #[error("the table is not named by 3 to 255 letters, digits, dots, dashes and underscores")]
    Table,
    /// The prefix names no place, or is too long.
    #[error("the prefix of the keys is empty, longer than 128 bytes, or not of visible ASCII")]
    Prefix,
    /// The region is no name of one.
    #[error("the region is not named by letters, digits and dashes")]
    Region,
    /// The endpoint is no address.
    #[error("the endpoint is not of the form https://HOST or http://HOST:PORT")]
    Endpoint,
    /// A part of the credentials cannot be sent.
    #[error("the {0} is empty, or has other characters than visible ASCII")]
    Credentials(&'static str),
}

pub(crate) fn check(
    table: &str,
    prefix: &str,
    options: &DynamoOptions,
) -> Result<(), InvalidDynamo> {
    let is_of_table = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !(3..=255).contains(&table.len()) || !table.bytes().all(is_of_table) {
        return Err(InvalidDynamo::Table);
    }
    if prefix.len() > 128 || !is_visible(prefix) {
        return Err(InvalidDynamo::Prefix);
    }
    let is_of_region = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let region = &options.region;
    if !(1..=64).contains(&region.len()) || !region.bytes().all(is_of_region) {
        return Err(InvalidDynamo::Region);
    }
    if options
        .endpoint
        .as_deref()
        .is_some_and(|url| !is_endpoint(url))
    {
        return Err(InvalidDynamo::Endpoint);
    }
    for (what, text) in [
        ("access key id", Some(&options.key_id)),
        ("secret access key", Some(&options.secret)),
        ("session token", options.session_token.as_ref()),
    ] {
        if text.is_some_and(|text| !is_visible(text)) {
            return Err(InvalidDynamo::Credentials(what));
        }
    }
    Ok(())
}

fn is_visible(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A scheme and a host, perhaps with a port, and nothing behind it.
fn is_endpoint(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else {
        return false;
    };
    let is_place = uri.authority().is_some_and(|place| {
        !place.host().is_empty() && !place.as_str().contains('@') && !place.as_str().ends_with(':')
    });
    let is_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    is_scheme && is_place && uri.path() == "/" && uri.query().is_none()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn options() -> DynamoOptions {
        DynamoOptions::new("eu-central-1", "AKIAEXAMPLE", "hunter2")
    }

    #[test]
    fn a_table_a_prefix_and_a_region_are_checked() {
        let long = "x".repeat(256);
        let region = |region: &str| DynamoOptions::new(region, "id", "hunter2");
        for (table, prefix, options, expected) in [
            ("affinity", "affinity:shop", options(), Ok(())),
            ("a-b.c_D", "x", options(), Ok(())),
            ("ab", "x", options(), Err(InvalidDynamo::Table)),
            (&long, "x", options(), Err(InvalidDynamo::Table)),
            ("affinity/x", "x", options(), Err(InvalidDynamo::Table)),
            ("affinity", "", options(), Err(InvalidDynamo::Prefix)),
            ("affinity", &long, options(), Err(InvalidDynamo::Prefix)),
            ("affinity", "a b", options(), Err(InvalidDynamo::Prefix)),
            ("affinity", "x", region(""), Err(InvalidDynamo::Region)),
            ("affinity", "x", region("a.b/"), Err(InvalidDynamo::Region)),
        ] {
            assert_eq!(check(table, prefix, &options), expected, "{table} {prefix}");
        }
    }

    #[test]
    fn an_endpoint_is_a_scheme_and_a_host() {
        for good in [
            "http://127.0.0.1:8000",
            "http://[::1]:8000/",
            "https://dynamodb.eu-central-1.amazonaws.com",
            "https://vpce-0.dynamodb.eu-central-1.vpce.amazonaws.com:443",
        ] {
            let options = options().endpoint(good);
            assert_eq!(check("affinity", "x", &options), Ok(()), "{good}");
        }
        for wrong in [
            "",
            "127.0.0.1:8000",
            "ftp://127.0.0.1",
            "http://",
            "http://host:",
            "http://user:hunter2@host",
            "http://host/path",
            "http://host?query",
            "http://ho st",
        ] {
            let refused = check("affinity", "x", &options().endpoint(wrong)).unwrap_err();
            assert_eq!(refused, InvalidDynamo::Endpoint, "{wrong}");
            assert!(!format!("{refused} {refused:?}").contains("hunter2"));
        }
    }

    #[test]
    fn credentials_are_checked_and_not_shown() {
        let wrong = [
            (DynamoOptions::new("r", "", "hunter2"), "access key id"),
            (DynamoOptions::new("r", "id", ""), "secret access key"),
            (
                DynamoOptions::new("r", "id", "hunter2\n"),
                "secret access key",
            ),
            (options().session_token("hunter2 "), "session token"),
        ];
        for (options, what) in wrong {
            let refused = check("affinity", "x", &options).unwrap_err();
            assert_eq!(refused, InvalidDynamo::Credentials(what));
            let shown = format!("{refused} {refused:?} {options:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        let shown = format!("{:?}", options().session_token("hunter2"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
