//! Just enough of a cookie jar: what one client of one site has to keep and to give back.

use std::collections::BTreeMap;

use cookie::Cookie;
use http::{HeaderMap, HeaderValue, header};

/// The cookies of one client. Names and values only: the demo has one site and lasts seconds.
#[derive(Debug, Default)]
pub(crate) struct Jar(BTreeMap<String, String>);

impl Jar {
    /// Takes what an answer sets; `Max-Age=0` removes.
    pub(crate) fn keep(&mut self, answer: &HeaderMap) {
        let lines = answer.get_all(header::SET_COOKIE).into_iter();
        for cookie in lines.filter_map(|line| Cookie::parse(line.to_str().ok()?).ok()) {
            if cookie.max_age().is_some_and(|age| !age.is_positive()) {
                self.0.remove(cookie.name());
            } else {
                self.0
                    .insert(cookie.name().to_owned(), cookie.value().to_owned());
            }
        }
    }

    /// The `Cookie` header of the next request; none while the jar is empty.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        if self.0.is_empty() {
            return None;
        }
        let pairs: Vec<_> = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        HeaderValue::try_from(pairs.join("; ")).ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn answer(lines: &[&'static str]) -> HeaderMap {
        lines
            .iter()
            .map(|line| (header::SET_COOKIE, HeaderValue::from_static(line)))
            .collect()
    }

    #[test]
    fn cookies_are_given_back_until_they_are_cleared() {
        let mut jar = Jar::default();
        assert_eq!(jar.header(), None);
        jar.keep(&answer(&[
            "affinity-demo=abc.def; Path=/; HttpOnly; Max-Age=1800",
            "b=2",
        ]));
        assert_eq!(jar.header().unwrap(), "affinity-demo=abc.def; b=2");
        jar.keep(&answer(&["affinity-demo=; Path=/; Max-Age=0", "b=3"]));
        assert_eq!(jar.header().unwrap(), "b=3");
    }
}
