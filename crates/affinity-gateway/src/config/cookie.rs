//! `pin.cookie`: the attributes of the cookie that carries a pin.

use tower_affinity::core::ServiceName;
use tower_affinity::{CookieAttributes, CookieError, SameSite};

use super::field::Field;
use super::section::Section;

/// The pin's cookie, one that browsers take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    attributes: CookieAttributes,
    secure: bool,
    same_site: SameSite,
    partitioned: bool,
}

impl Cookie {
    /// Its name and attributes.
    #[must_use]
    pub fn attributes(&self) -> &CookieAttributes {
        &self.attributes
    }

    /// Its name: as written, else `__Host-affinity-SERVICE`, or `affinity-SERVICE` if not secure.
    #[must_use]
    pub fn name(&self) -> &str {
        self.attributes.as_name()
    }

    /// Whether browsers send it over TLS only.
    #[must_use]
    pub fn secure(&self) -> bool {
        self.secure
    }

    /// With which requests from other sites browsers send it.
    #[must_use]
    pub fn same_site(&self) -> SameSite {
        self.same_site
    }

    /// Whether it is kept apart for each top-level site.
    #[must_use]
    pub fn partitioned(&self) -> bool {
        self.partitioned
    }
}

/// Reads `pin.cookie`; `None` if the service is not known, which is a mistake of its own.
pub(super) fn read(pin: &Section<'_>, service: Option<&ServiceName>) -> Option<Cookie> {
    let section = pin.section("cookie");
    let secure = section.field("secure").and_then(|field| field.flag());
    let name = written(&section, "name", |field| field.text("a cookie name"));
    let same_site = written(&section, "same_site", |field| field.word(&SAME_SITES));
    let partitioned = written(&section, "partitioned", Field::flag);
    section.finish();

    let secure = secure.unwrap_or(true);
    let mut cookie = Cookie {
        attributes: CookieAttributes::new(service?, secure),
        secure,
        same_site: same_site
            .as_ref()
            .map_or_else(SameSite::default, |(_, site)| *site),
        partitioned: partitioned
            .as_ref()
            .is_some_and(|(_, partitioned)| *partitioned),
    };
    if let Some((field, _)) = name
        .as_ref()
        .filter(|(_, name)| !secure && is_http_only(name))
    {
        field.refuse("browsers refuse this prefix without secure = true");
    }
    cookie.set(name, |attributes, name| attributes.name(name));
    cookie.set(same_site, CookieAttributes::same_site);
    cookie.set(partitioned, CookieAttributes::partitioned);
    Some(cookie)
}

impl Cookie {
    /// Changes one attribute, or refuses the value that browsers would not take.
    fn set<T>(
        &mut self,
        written: Option<(Field<'_>, T)>,
        change: impl FnOnce(CookieAttributes, T) -> Result<CookieAttributes, CookieError>,
    ) {
        let Some((field, value)) = written else {
            return;
        };
        match change(self.attributes.clone(), value) {
            Ok(attributes) => self.attributes = attributes,
            Err(error) => field.refuse(error),
        }
    }
}

fn written<'a, T>(
    section: &Section<'a>,
    name: &'static str,
    read: impl FnOnce(&Field<'a>) -> Option<T>,
) -> Option<(Field<'a>, T)> {
    let field = section.field(name)?;
    let value = read(&field)?;
    Some((field, value))
}

/// The newest of the prefixes that promise something.
fn is_http_only(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("__http-")
}

pub(super) const SAME_SITES: [(&str, SameSite); 3] = [
    ("strict", SameSite::Strict),
    ("lax", SameSite::Lax),
    ("none", SameSite::None),
];
