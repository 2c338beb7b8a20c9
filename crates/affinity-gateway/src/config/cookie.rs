//! `pin.cookie`: the attributes of the cookie that carries a pin.

use tower_affinity::core::ServiceName;

use super::section::Section;

/// The pin's cookie; `HttpOnly` and `Path=/` always, never a `Domain`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cookie {
    /// Its name: as written, else `__Host-affinity-SERVICE`, or `affinity-SERVICE` if not secure.
    pub name: String,
    /// Whether browsers send it over TLS only.
    pub secure: bool,
    /// On which cross-site requests browsers send it.
    pub same_site: SameSite,
    /// Whether it is kept apart for each top-level site.
    pub partitioned: bool,
}

/// On which cross-site requests browsers send a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// None.
    Strict,
    /// Top-level navigations by a safe method.
    Lax,
    /// All.
    None,
}

impl SameSite {
    pub(super) const WORDS: [(&'static str, Self); 3] = [
        ("strict", Self::Strict),
        ("lax", Self::Lax),
        ("none", Self::None),
    ];
}

pub(super) fn read(pin: &Section<'_>, service: Option<&ServiceName>) -> Cookie {
    let section = pin.section("cookie");
    let secure = section
        .field("secure")
        .and_then(|field| field.flag())
        .unwrap_or(true);
    let name = section.field("name");
    let written = name
        .as_ref()
        .and_then(|field| field.parsed(NAME, valid_name));
    let same_site = section.field("same_site");
    let site = same_site
        .as_ref()
        .and_then(|field| field.word(&SameSite::WORDS, &[]));
    let partitioned = section.field("partitioned");
    let is_partitioned = partitioned
        .as_ref()
        .and_then(|field| field.flag())
        .unwrap_or(false);

    if !secure {
        if let (Some(field), Some(SameSite::None)) = (&same_site, site) {
            field.refuse("browsers refuse it with secure = false; accepted: \"lax\", \"strict\", or secure = true");
        }
        if let (Some(field), true) = (&partitioned, is_partitioned) {
            field.refuse(
                "browsers refuse it with secure = false; accepted: false, or secure = true",
            );
        }
        if let (Some(field), true) = (&name, written.as_deref().is_some_and(needs_secure)) {
            field.refuse("browsers refuse this prefix with secure = false; accepted: another name, or secure = true");
        }
    }
    section.finish();
    let default = || {
        let prefix = if secure { "__Host-" } else { "" };
        format!(
            "{prefix}affinity-{}",
            service.map_or("", |service| service.as_str())
        )
    };
    Cookie {
        name: written.unwrap_or_else(default),
        secure,
        same_site: site.unwrap_or(SameSite::Lax),
        partitioned: is_partitioned,
    }
}

/// A name of RFC 6265: a token of RFC 9110.
pub(super) fn valid_name(text: &str) -> Option<String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    ((1..=MAX_NAME).contains(&text.len()) && text.bytes().all(token)).then(|| text.to_owned())
}

/// Browsers compare the prefixes without case, and refuse such a cookie without `Secure`.
fn needs_secure(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["__host-", "__secure-", "__http-", "__host-http-"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

pub(super) const NAME: &str =
    "a cookie name of 1 to 128 of A-Z a-z 0-9 ! # $ % & ' * + - . ^ _ ` | ~";
/// With a token of 512 bytes far below the 4,096 that browsers keep of name and value.
const MAX_NAME: usize = 128;
