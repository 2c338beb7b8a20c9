//! Which of the headers that are looked at are there.

use http::header::HeaderMap;

/// Which of the headers that the layers look at are there: one pass over the names in place of a
/// dozen lookups, each of which hashes its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent(u8);

impl Sent {
    pub(crate) const COOKIE: Self = Self(1);
    pub(crate) const PIN: Self = Self(1 << 1);
    pub(crate) const HOP: Self = Self(1 << 2);
    pub(crate) const OVERRIDE: Self = Self(1 << 3);
    pub(crate) const CONTENT_TYPE: Self = Self(1 << 4);
    /// Conditions and ranges.
    pub(crate) const PARTS: Self = Self(1 << 5);
    pub(crate) const SET_COOKIE: Self = Self(1 << 6);
    /// What tells caches how to treat an answer.
    pub(crate) const CACHING: Self = Self(1 << 7);

    /// Nothing is known: everything can be there.
    pub(crate) const ANY: Self = Self(u8::MAX);

    /// So many names that looking each of ours up is cheaper.
    const MANY: usize = 32;

    /// Those that `headers` hold.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if headers.keys_len() > Self::MANY {
            return Self::ANY;
        }
        let all = headers.keys().map(|name| Self::named(name.as_str()));
        Self(all.fold(0, |all, one| all | one.0))
    }

    fn named(name: &str) -> Self {
        match name {
            "cookie" => Self::COOKIE,
            "content-type" => Self::CONTENT_TYPE,
            "set-cookie" => Self::SET_COOKIE,
            "affinity-pin" => Self::PIN,
            "affinity-hop" => Self::HOP,
            "affinity-override" => Self::OVERRIDE,
            "if-none-match" | "if-modified-since" | "if-range" | "range" => Self::PARTS,
            "cache-control" | "expires" | "cdn-cache-control" | "surrogate-control" => {
                Self::CACHING
            }
            _ => Self(0),
        }
    }

    pub(crate) const fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use http::header::{self, HeaderName, HeaderValue};

    use super::*;

    /// Each name that is looked up elsewhere, and what it shows as.
    #[test]
    fn every_header_that_is_looked_up_shows() {
        let own = HeaderName::from_static;
        for (name, shows) in [
            (header::COOKIE, Sent::COOKIE),
            (header::CONTENT_TYPE, Sent::CONTENT_TYPE),
            (header::SET_COOKIE, Sent::SET_COOKIE),
            (header::IF_NONE_MATCH, Sent::PARTS),
            (header::IF_MODIFIED_SINCE, Sent::PARTS),
            (header::IF_RANGE, Sent::PARTS),
            (header::RANGE, Sent::PARTS),
            (header::CACHE_CONTROL, Sent::CACHING),
            (header::EXPIRES, Sent::CACHING),
            (own("cdn-cache-control"), Sent::CACHING),
            (own("surrogate-control"), Sent::CACHING),
            (crate::carrier::header::PIN, Sent::PIN),
            (super::super::HOP, Sent::HOP),
            (super::super::grant::HEADER, Sent::OVERRIDE),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("x"));
            assert_eq!(Sent::of(&headers).0, 0);
            headers.insert(&name, HeaderValue::from_static("x"));
            assert_eq!(Sent::of(&headers).0, shows.0, "{name}");
        }
    }

    #[test]
    fn among_many_names_all_can_be_there() {
        let mut headers = HeaderMap::new();
        for nth in 0..=Sent::MANY {
            let name: HeaderName = format!("x-{nth}").parse().unwrap();
            headers.insert(name, HeaderValue::from_static("x"));
        }
        assert!(Sent::of(&headers).has(Sent::PIN), "it is looked up then");
    }
}
