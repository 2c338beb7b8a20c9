//! A load of HTTP/1.1 requests from one thread, which looks at every answer.
//!
//! Closed (without a rate): each connection sends its next request when it has the answer to the one
//! before. Open: requests are due at fixed times, and a latency begins when its request was due, so that
//! a proxy that stalls is not asked less.

mod answer;
mod client;
mod outcome;

use std::net::SocketAddr;
use std::time::Duration;

pub(crate) use self::client::run;
pub(crate) use self::outcome::{Faults, Outcome};

/// How requests are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) connections: usize,
    pub(crate) path: &'static str,
    /// Whether each request has a connection of its own.
    pub(crate) closes: bool,
    /// Requests a second; as many as are answered where there is none.
    pub(crate) rate: Option<u32>,
    /// What is sent before anything is measured.
    pub(crate) warm: Duration,
    pub(crate) span: Duration,
}

/// Who asks, in the cookies of one request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The group that has to answer; where there is none, the answer has to set a cookie.
    pub(crate) group: Option<usize>,
    /// The pin: `NAME=VALUE`.
    pub(crate) pin: Option<String>,
}

impl Client {
    /// One that has never asked before.
    pub(crate) const NEW: Self = Self {
        group: None,
        pin: None,
    };

    /// The bytes of its request.
    pub(crate) fn request(&self, to: SocketAddr, load: &Load) -> Vec<u8> {
        let cookies = self
            .pin
            .as_ref()
            .map(|pin| format!("cookie: theme=dark; visits=17; {pin}\r\n"));
        let close = if load.closes {
            "connection: close\r\n"
        } else {
            ""
        };
        format!(
            "GET {} HTTP/1.1\r\nhost: {to}\r\nuser-agent: load\r\naccept: */*\r\n{}{close}\r\n",
            load.path,
            cookies.unwrap_or_default(),
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pods::Pods;

    /// What endpoints of the second group, which set no cookies, do wrong for these clients.
    fn asked(group: Option<usize>) -> Outcome {
        let load = Load {
            connections: 4,
            path: "/",
            closes: false,
            rate: None,
            warm: Duration::from_millis(10),
            span: Duration::from_millis(50),
        };
        let client = Client {
            group,
            pin: Some("pin=1".to_owned()),
        };
        let pods = Pods::start();
        let outcome = run(&load, pods.of(1)[0], &[client], || ());
        assert!(outcome.answers > 0, "nothing was answered");
        outcome
    }

    #[test]
    fn an_answer_of_the_group_of_the_pin_is_right() {
        assert_eq!(asked(Some(1)).faults, Faults::default());
    }

    #[test]
    fn an_answer_of_another_group_is_wrong() {
        let outcome = asked(Some(0));
        assert_eq!(
            outcome.faults,
            Faults {
                group: outcome.answers,
                ..Faults::default()
            }
        );
    }

    #[test]
    fn a_new_session_without_a_cookie_is_wrong() {
        let outcome = asked(None);
        assert_eq!(
            outcome.faults,
            Faults {
                cookie: outcome.answers,
                ..Faults::default()
            }
        );
    }
}
