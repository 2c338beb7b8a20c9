//! A client that keeps cookies.

use http::Request;
use http::header::COOKIE;
use tower_affinity::core::{Clock, Timestamp};
use tower_affinity_testing::Jar;

use super::{Body, COOKIE_NAME, Seen, Site, ask};

/// A browser: it keeps cookies and sends them back.
#[derive(Clone, Default)]
pub(crate) struct Browser(pub(crate) Jar);

impl Browser {
    pub(crate) fn get(&mut self, site: &Site) -> Seen {
        self.ask(site, "GET", "/", &[])
    }

    pub(crate) fn ask(
        &mut self,
        site: &Site,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Seen {
        let seen = site.send(self.request(site.clock.now(), method, path, headers));
        self.take(&seen, site.clock.now());
        seen
    }

    pub(crate) fn request(
        &self,
        now: Timestamp,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Request<Body> {
        let mut request = ask(method, path, headers);
        if let Some(cookies) = self.0.header(now) {
            request
                .headers_mut()
                .append(COOKIE, cookies.parse().unwrap());
        }
        request
    }

    pub(crate) fn take(&mut self, seen: &Seen, now: Timestamp) {
        for line in seen.set_cookies() {
            self.0.take(line, now);
        }
    }

    pub(crate) fn token(&self) -> &str {
        self.0.get(COOKIE_NAME).expect("a browser with a pin")
    }
}
