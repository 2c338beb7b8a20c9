//! An answer as its client gets it, and the request as the application saw it.

use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{Request, Response};
use http_body_util::BodyExt;
use tower::Service;
use tower_affinity::{Affinity, AffinityService};
use tower_affinity_testing::HandClock;

use super::{App, Body, COOKIE_NAME, Site, at_once, texts};

/// An answer that has not arrived yet.
pub(crate) struct OnItsWay {
    pub(super) answer: <AffinityService<App> as Service<Request<Body>>>::Future,
    pub(super) forwarded: Option<Request<()>>,
}

impl OnItsWay {
    pub(crate) fn arrive(self) -> Seen {
        Seen {
            response: at_once(self.answer).unwrap(),
            forwarded: self.forwarded,
        }
    }

    /// As [`OnItsWay::arrive`], while the clock goes on by a millisecond with every look at it.
    pub(crate) fn arrive_in_time(self, clock: &HandClock) -> Seen {
        let mut answer = tokio_test::task::spawn(self.answer);
        for _ in 0..10_000 {
            if let Poll::Ready(response) = answer.poll() {
                return Seen {
                    response: response.unwrap(),
                    forwarded: self.forwarded,
                };
            }
            clock.advance(Duration::from_millis(1));
        }
        panic!("no answer within ten seconds");
    }

    /// As [`OnItsWay::arrive`], for a request that could only be sent on now.
    pub(crate) fn arrive_asked(self, site: &Site) -> Seen {
        let seen = self.arrive();
        Seen {
            forwarded: site.app.last(),
            ..seen
        }
    }

    /// The group that the application was asked for; `None` if it was not asked.
    pub(crate) fn group(&self) -> Option<String> {
        let affinity = self.forwarded.as_ref()?.extensions().get::<Affinity>()?;
        Some(affinity.group().to_owned())
    }
}

/// An answer as its client gets it, and the request as the application saw it.
pub(crate) struct Seen {
    pub(crate) response: Response<Body>,
    pub(crate) forwarded: Option<Request<()>>,
}

impl Seen {
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(crate) fn body(&self) -> Bytes {
        let whole = at_once(self.response.body().clone().collect());
        whole.unwrap().to_bytes()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.response.headers().get(name)?;
        Some(value.to_str().unwrap())
    }

    pub(crate) fn set_cookies(&self) -> Vec<&str> {
        texts(self.response.headers(), SET_COOKIE.as_str())
    }

    /// The token of the one pin that the answer sets in our cookie; `None` without one.
    pub(crate) fn cookie(&self) -> Option<String> {
        let ours = format!("{COOKIE_NAME}=");
        let mut values = self.set_cookies().into_iter().filter_map(|line| {
            let pair = line.split(';').next()?;
            Some(pair.strip_prefix(&ours)?.to_owned())
        });
        let first = values.next();
        assert_eq!(values.next(), None, "our cookie is set twice");
        first
    }

    pub(crate) fn affinity(&self) -> &Affinity {
        let extension = self.response.extensions().get();
        extension.expect("an answer that went through the layer")
    }

    /// The decision in one line: `pinned/ok@A`.
    pub(crate) fn said(&self) -> String {
        let (kind, cause) = (
            self.affinity().decision().kind,
            self.affinity().decision().cause,
        );
        format!(
            "{}/{}@{}",
            kind.as_str(),
            cause.as_str(),
            self.affinity().group()
        )
    }

    /// Whether nothing at all is written about a pin.
    pub(crate) fn is_silent(&self) -> bool {
        self.set_cookies().is_empty() && self.header("affinity-pin").is_none()
    }

    /// The lines of a header as the application saw them.
    pub(crate) fn forwarded(&self, name: &str) -> Vec<Vec<u8>> {
        let request = self
            .forwarded
            .as_ref()
            .expect("a request that was forwarded");
        let lines = request.headers().get_all(name).into_iter();
        lines.map(|line| line.as_bytes().to_vec()).collect()
    }
}
