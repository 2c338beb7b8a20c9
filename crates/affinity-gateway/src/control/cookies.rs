//! Cookies of earlier configurations: browsers hold them for as long as a session lives.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tower_affinity::core::{ServiceName, Timestamp};
use tower_affinity::{CookieAttributes, SameSite};

use crate::config::Cookie;

/// The cookie last applied, and those before it that are still read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CookieUse {
    present: Option<Written>,
    former: Vec<Former>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    name: String,
    secure: bool,
    same_site: Site,
    partitioned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Site {
    Strict,
    Lax,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Former {
    cookie: Written,
    /// Milliseconds since the Unix epoch.
    until: u64,
}

impl CookieUse {
    /// The use once `cookie` is applied.
    pub(super) fn with(&self, cookie: &Cookie, now: Timestamp, max_age: Duration) -> Self {
        let present = Written::of(cookie);
        let mut former = self.former.clone();
        if let Some(before) = self.present.as_ref().filter(|before| **before != present) {
            let until = now.plus(max_age).as_millis();
            former.retain(|old| old.cookie != *before);
            former.push(Former {
                cookie: before.clone(),
                until,
            });
        }
        former.retain(|old| old.cookie != present && now.as_millis() < old.until);
        Self {
            present: Some(present),
            former,
        }
    }

    /// The cookies that are still read, besides the present one.
    pub(super) fn former(&self, service: &ServiceName) -> Vec<CookieAttributes> {
        self.former
            .iter()
            .filter_map(|old| old.cookie.attributes(service))
            .collect()
    }
}

impl Written {
    fn of(cookie: &Cookie) -> Self {
        Self {
            name: cookie.name().to_owned(),
            secure: cookie.secure(),
            same_site: match cookie.same_site() {
                SameSite::Strict => Site::Strict,
                SameSite::Lax => Site::Lax,
                SameSite::None => Site::None,
            },
            partitioned: cookie.partitioned(),
        }
    }

    /// `None` for what no configuration could have held.
    fn attributes(&self, service: &ServiceName) -> Option<CookieAttributes> {
        let cookie = CookieAttributes::new(service, self.secure)
            .name(&self.name)
            .ok()?;
        let cookie = cookie.same_site(match self.same_site {
            Site::Strict => SameSite::Strict,
            Site::Lax => SameSite::Lax,
            Site::None => SameSite::None,
        });
        cookie.ok()?.partitioned(self.partitioned).ok()
    }
}
