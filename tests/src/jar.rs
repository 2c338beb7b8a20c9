//! A cookie jar of one client: what a browser would keep of one origin, and give back.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cookie::Cookie;
use serde_json::Value;
use tokio::time::Instant;

/// Which of two cookies of one name stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keeps {
    /// The one that arrived last, as in browsers.
    LastArrival,
    /// The pin with the greatest revision, number of moves and time of issue.
    NewestPin,
}

/// The cookies of one client.
#[derive(Clone, Debug)]
pub struct Jar {
    keeps: Keeps,
    cookies: BTreeMap<String, Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    value: String,
    until: Option<Instant>,
}

impl Jar {
    /// An empty one.
    #[must_use]
    pub fn new(keeps: Keeps) -> Self {
        Self {
            keeps,
            cookies: BTreeMap::new(),
        }
    }

    /// Takes one `Set-Cookie` line.
    ///
    /// # Panics
    ///
    /// If a browser would refuse it: it cannot be parsed, or a `__Host-` name comes without
    /// `Secure` and `Path=/`, or with a `Domain`.
    pub fn take(&mut self, line: &str) {
        let cookie = Cookie::parse(line).unwrap_or_else(|e| panic!("Set-Cookie {line:?}: {e}"));
        if cookie.name().starts_with("__Host-") {
            let fit = cookie.secure() == Some(true)
                && cookie.path() == Some("/")
                && cookie.domain().is_none();
            assert!(fit, "a browser refuses {line:?}");
        }
        let name = cookie.name().to_owned();
        let age = cookie.max_age();
        if age.is_some_and(|age| !age.is_positive()) {
            self.cookies.remove(&name);
            return;
        }
        let value = cookie.value().to_owned();
        let older = |kept: &Kept| order(&value) < order(&kept.value);
        if self.keeps == Keeps::NewestPin && self.cookies.get(&name).is_some_and(older) {
            return;
        }
        let until = age.map(|age| Instant::now() + age.unsigned_abs());
        self.cookies.insert(name, Kept { value, until });
    }

    /// Puts a cookie there by hand.
    pub fn put(&mut self, name: &str, value: &str) {
        let kept = Kept {
            value: value.to_owned(),
            until: None,
        };
        self.cookies.insert(name.to_owned(), kept);
    }

    /// The value of a cookie that has not expired.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let kept = self.cookies.get(name).filter(|kept| kept.is_live());
        kept.map(|kept| kept.value.as_str())
    }

    /// The `Cookie` header of the next request; none if there is nothing to give back.
    #[must_use]
    pub fn header(&self) -> Option<String> {
        let live = self.cookies.iter().filter(|(_, kept)| kept.is_live());
        let pairs: Vec<_> = live
            .map(|(name, kept)| format!("{name}={}", kept.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

impl Kept {
    fn is_live(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// The claims of a pin, unverified.
///
/// # Panics
///
/// If it is no token.
#[must_use]
pub fn claims(pin: &str) -> Value {
    let payload = pin
        .split('.')
        .nth(1)
        .unwrap_or_else(|| panic!("{pin:?} is no token"));
    let bytes = URL_SAFE_NO_PAD
        .decode(payload)
        .expect("a payload is base64url");
    serde_json::from_slice(&bytes).expect("a payload is JSON")
}

/// By what pins of one session are compared.
fn order(pin: &str) -> (u64, u64, u64) {
    let claims = claims(pin);
    let number = |name: &str| claims.get(name).and_then(Value::as_u64).unwrap_or_default();
    (number("rev"), number("mv"), number("iat"))
}
