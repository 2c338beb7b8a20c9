//! What a browser does with cookies, as far as tests of one host need it.

use std::time::Duration;

use tower_affinity_core::Timestamp;

/// A cookie jar for one host and the path `/`. Of several cookies with one name the one that came
/// last is kept, whatever it holds: that is what browsers do.
#[derive(Clone, Debug, Default)]
pub struct Jar(Vec<Kept>);

#[derive(Clone, Debug)]
struct Kept {
    name: String,
    value: String,
    /// `None`: until the browser is closed.
    until: Option<Timestamp>,
}

impl Jar {
    /// Takes in the value of a `Set-Cookie` header that arrives at `now`.
    pub fn take(&mut self, set_cookie: &str, now: Timestamp) {
        let mut parts = set_cookie.split(';');
        let (name, value) = parts
            .next()
            .and_then(|pair| pair.split_once('='))
            .unwrap_or_default();
        let (name, value) = (name.trim(), value.trim());
        let max_age = parts
            .filter_map(|attribute| attribute.split_once('='))
            .filter(|(attribute, _)| attribute.trim().eq_ignore_ascii_case("max-age"))
            .find_map(|(_, seconds)| seconds.trim().parse::<i64>().ok());
        self.0.retain(|kept| kept.name != name);
        if max_age.is_some_and(|seconds| seconds <= 0) {
            return;
        }
        let until = max_age.map(|seconds| now.plus(Duration::from_secs(seconds.unsigned_abs())));
        self.0.push(Kept {
            name: name.to_owned(),
            value: value.to_owned(),
            until,
        });
    }

    /// The value of the `Cookie` header that is sent at `now`; `None` without a cookie.
    #[must_use]
    pub fn header(&self, now: Timestamp) -> Option<String> {
        let live = self
            .0
            .iter()
            .filter(|kept| kept.until.is_none_or(|until| now < until));
        let pairs: Vec<String> = live
            .map(|kept| format!("{}={}", kept.name, kept.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// The value of the cookie of that name, expired or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|kept| kept.name == name)
            .map(|kept| kept.value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cookie_of_a_name_stays_until_its_age_is_over() {
        let (start, mut jar) = (Timestamp::from_secs(100), Jar::default());
        jar.take("a=1; Path=/; Max-Age=10", start);
        jar.take("b=2", start);
        jar.take("a=3; max-age=5", start);
        let at = |seconds| start.plus(Duration::from_secs(seconds));
        assert_eq!(jar.header(at(4)).as_deref(), Some("b=2; a=3"));
        assert_eq!(jar.header(at(5)).as_deref(), Some("b=2"));
        jar.take("b=; Max-Age=0", at(6));
        assert_eq!(jar.header(at(6)), None);
        assert_eq!(jar.get("b"), None, "a cleared cookie is gone");
    }
}
