//! The attributes of our cookie, refused where a browser would refuse them.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;
use cookie::Cookie;
use http::HeaderValue;
use thiserror::Error;
use tower_affinity_core::ServiceName;

/// When a browser sends the cookie with requests from other sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameSite {
    /// Never.
    Strict,
    /// With top-level navigations by a safe method.
    #[default]
    Lax,
    /// Always; needs `Secure`.
    None,
}

/// A cookie that a browser would refuse.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CookieError {
    /// The name is no cookie name.
    #[error("a cookie name is 1 to 64 of A-Z a-z 0-9 _ - . after an optional __Host- or __Secure-")]
    Name,
    /// A name that begins with `__Host-` or `__Secure-` promises `Secure`.
    #[error("the cookie name {0} needs secure = true")]
    PrefixNeedsSecure(String),
    /// `SameSite=None` without `Secure`.
    #[error("same_site = \"none\" needs secure = true")]
    NoneNeedsSecure,
    /// `Partitioned` without `Secure`.
    #[error("partitioned = true needs secure = true")]
    PartitionedNeedsSecure,
}

/// The name and attributes of our cookie.
///
/// Always `HttpOnly` and `Path=/`, never with a `Domain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieAttributes {
    name: String,
    secure: bool,
    same_site: SameSite,
    partitioned: bool,
    /// What follows the value: written once, since every cookie ends alike but for its age.
    tail: String,
}

impl CookieAttributes {
    /// The default cookie of a service: `__Host-affinity-SERVICE`, or `affinity-SERVICE` if
    /// `secure` is `false`, which is for development over plain HTTP.
    #[must_use]
    pub fn new(service: &ServiceName, secure: bool) -> Self {
        let prefix = if secure { "__Host-" } else { "" };
        Self {
            name: format!("{prefix}affinity-{service}"),
            secure,
            same_site: SameSite::Lax,
            partitioned: false,
            tail: String::new(),
        }
        .finished()
    }

    /// The cookie of an override, with the same attributes.
    pub(crate) fn of_override(&self, service: &ServiceName) -> Self {
        let plain = Self::new(service, self.secure);
        Self {
            name: format!("{}.override", plain.name),
            ..self.clone()
        }
    }

    /// Another name.
    ///
    /// # Errors
    ///
    /// If it is no cookie name, or promises what the cookie does not keep.
    pub fn name(self, name: &str) -> Result<Self, CookieError> {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        if !(1..=64).contains(&name.len()) || !name.bytes().all(inner) {
            return Err(CookieError::Name);
        }
        Self {
            name: name.to_owned(),
            ..self
        }
        .checked()
    }

    /// When a browser sends it with requests from other sites; by default `Lax`.
    ///
    /// # Errors
    ///
    /// For `None` without `Secure`.
    pub fn same_site(self, same_site: SameSite) -> Result<Self, CookieError> {
        Self { same_site, ..self }.checked()
    }

    /// Whether it is kept apart for each top-level site; by default `false`.
    ///
    /// # Errors
    ///
    /// If the cookie is not `Secure`.
    pub fn partitioned(self, partitioned: bool) -> Result<Self, CookieError> {
        Self {
            partitioned,
            ..self
        }
        .checked()
    }

    /// The cookie's name.
    #[must_use]
    pub fn as_name(&self) -> &str {
        &self.name
    }

    pub(crate) fn sent_cross_site(&self) -> SameSite {
        self.same_site
    }

    /// The cookie with these attributes as a header's value; `max_age` 0 clears it. `None` for a value
    /// that no header can hold.
    pub(crate) fn build(&self, value: &str, max_age: Duration) -> Option<HeaderValue> {
        let seconds = max_age.as_secs().min(i64::MAX as u64);
        let digits = seconds.checked_ilog10().map_or(1, |log| log as usize + 1);
        // exact: then no byte is copied again to become a header's value
        let len = self.name.len() + 1 + value.len() + self.tail.len() + digits;
        let mut text = String::with_capacity(len);
        for part in [&self.name, "=", value, &self.tail] {
            text.push_str(part);
        }
        write!(text, "{seconds}").ok()?;
        HeaderValue::from_maybe_shared(Bytes::from(text)).ok()
    }

    /// With the tail of these attributes, as the crate `cookie` writes it.
    fn finished(self) -> Self {
        let mut cookie = Cookie::build((self.name.as_str(), ""))
            .path("/")
            .http_only(true)
            .secure(self.secure)
            .same_site(match self.same_site {
                SameSite::Strict => cookie::SameSite::Strict,
                SameSite::Lax => cookie::SameSite::Lax,
                SameSite::None => cookie::SameSite::None,
            });
        if self.partitioned {
            cookie = cookie.partitioned(true);
        }
        let text = cookie.build().to_string();
        let (_, tail) = text.split_once('=').unwrap_or_default();
        Self {
            tail: format!("{tail}; Max-Age="),
            ..self
        }
    }

    fn checked(self) -> Result<Self, CookieError> {
        // browsers compare the prefixes without regard to case (RFC 6265bis, section 4.1.3)
        let lower = self.name.to_ascii_lowercase();
        let prefixed = lower.starts_with("__host-") || lower.starts_with("__secure-");
        match self {
            Self { secure: true, .. } => Ok(self.finished()),
            _ if prefixed => Err(CookieError::PrefixNeedsSecure(self.name)),
            Self {
                same_site: SameSite::None,
                ..
            } => Err(CookieError::NoneNeedsSecure),
            Self {
                partitioned: true, ..
            } => Err(CookieError::PartitionedNeedsSecure),
            _ => Ok(self.finished()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_cookie_is_written_as_the_crate_writes_it() {
        let service: ServiceName = "checkout".parse().unwrap();
        for nth in 0..24_u64 {
            let (secure, partitioned) = (nth & 1 == 0, nth & 2 == 0);
            let same_site = [SameSite::Strict, SameSite::Lax, SameSite::None][nth as usize / 4 % 3];
            let cookie = CookieAttributes::new(&service, secure).same_site(same_site);
            let Ok(cookie) = cookie.and_then(|cookie| cookie.partitioned(partitioned)) else {
                continue;
            };
            let seconds = [0, 9, 1_800, u64::MAX][nth as usize % 4];
            let expected = Cookie::build((cookie.as_name(), "x.y.z"))
                .path("/")
                .http_only(true)
                .secure(secure)
                .same_site(match same_site {
                    SameSite::Strict => cookie::SameSite::Strict,
                    SameSite::Lax => cookie::SameSite::Lax,
                    SameSite::None => cookie::SameSite::None,
                })
                .max_age(cookie::time::Duration::seconds(
                    i64::try_from(seconds).unwrap_or(i64::MAX),
                ));
            let expected = match partitioned {
                true => expected.partitioned(true),
                false => expected,
            };
            let value = cookie.build("x.y.z", Duration::from_secs(seconds)).unwrap();
            assert_eq!(value.to_str().unwrap(), expected.to_string());
        }
    }
}
