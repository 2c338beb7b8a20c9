//! What is counted of answers that mean: nobody knows who this is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use http::header::LOCATION;
use http::{HeaderMap, Response, StatusCode};
use metrics::Counter;
use tower_affinity_core::analysis::{AuthCount, AuthReading};
use tower_affinity_core::{Cohort, LastMove};

use super::names;
use super::series::Series;
use super::source::Kept;
use crate::problem::is_unauthenticated;
use crate::wire::PathPattern;

/// The counts of one group.
#[derive(Default)]
pub(super) struct AuthSeries {
    counters: [Kept<Counter>; Cohort::ALL.len()],
    answered: [AtomicU64; Cohort::ALL.len()],
    failed: [AtomicU64; Cohort::ALL.len()],
    arrival: Mutex<Option<Arrival>>,
}

/// The last move of a session to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) from: String,
    pub(super) cause: String,
}

impl AuthSeries {
    /// A session has come from another group.
    pub(super) fn arrived(&self, last: &LastMove) {
        // what is in it is replaced as a whole
        let mut arrival = self.arrival.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, cause) = (last.from.label(), last.cause.as_str());
        if arrival
            .as_ref()
            .is_none_or(|a| a.from != from || a.cause != cause)
        {
            *arrival = Some(Arrival {
                from: from.to_owned(),
                cause: cause.to_owned(),
            });
        }
    }

    pub(super) fn arrival(&self) -> Option<Arrival> {
        let arrival = self.arrival.lock().unwrap_or_else(PoisonError::into_inner);
        arrival.clone()
    }

    pub(super) fn reading(&self) -> AuthReading {
        let count = |cohort: Cohort| AuthCount {
            answered: get(&self.answered, cohort),
            failed: get(&self.failed, cohort),
        };
        AuthReading {
            moved: count(Cohort::Moved),
            established: count(Cohort::Established),
        }
    }
}

impl Series {
    /// An endpoint has answered.
    pub(super) fn auth_answer(&self, cohort: Cohort, failed: bool) {
        let auth = self.auth();
        if failed {
            self.count_in(&auth.counters, names::AUTH_FAILURES, cohort, None);
        }
        // the others are not compared
        if matches!(cohort, Cohort::Moved | Cohort::Established) {
            add(&auth.answered, cohort);
            if failed {
                add(&auth.failed, cohort);
            }
        }
    }
}

/// Whether an answer says that it is not known, or not allowed, who asks.
pub(super) fn is_failure<B>(response: &Response<B>, login: &[PathPattern]) -> bool {
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => true,
        status if status.is_redirection() => sends_to(response.headers(), login),
        _ => is_unauthenticated(response.headers()),
    }
}

/// Whether an answer sends to one of these paths, whatever host and query go with it.
fn sends_to(headers: &HeaderMap, paths: &[PathPattern]) -> bool {
    if paths.is_empty() {
        return false;
    }
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    location
        .map(path_of)
        .is_some_and(|path| paths.iter().any(|login| login.matches(path)))
}

/// The path of a location; of a relative one what it says.
fn path_of(location: &str) -> &str {
    let end = location.find(['?', '#']).unwrap_or(location.len());
    let location = location.get(..end).unwrap_or_default();
    let authority = match location.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => Some(rest),
        _ => location.strip_prefix("//"),
    };
    match authority {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => location,
    }
}

fn get(counts: &[AtomicU64], cohort: Cohort) -> u64 {
    let count = counts.get(cohort as usize);
    count.map_or(0, |count| count.load(Ordering::Relaxed))
}

fn add(counts: &[AtomicU64], cohort: Cohort) {
    if let Some(count) = counts.get(cohort as usize) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_to_a_login_path_is_a_failure_whatever_host_and_query_it_has() {
        let login: Vec<PathPattern> = ["/login", "/sso/*"].map(|p| p.parse().unwrap()).into();
        for (location, is_login) in [
            ("/login", true),
            ("/login?next=/cart", true),
            ("/login#top", true),
            ("https://shop.example/login", true),
            ("//shop.example/login?x", true),
            ("/sso/start", true),
            ("/sso", false),
            ("/cart?next=/login", false),
            ("https://login.example", false),
            ("https://shop.example?/login", false),
            ("/a://b/login", false),
            ("/Login", false),
            ("login", false),
            ("", false),
        ] {
            let response = Response::builder().status(302).header(LOCATION, location);
            let response = response.body(()).unwrap();
            assert_eq!(is_failure(&response, &login), is_login, "{location:?}");
            assert!(!is_failure(&response, &[]), "no path is a login by itself");
        }
        let not_sent = Response::builder().status(201).header(LOCATION, "/login");
        assert!(
            !is_failure(&not_sent.body(()).unwrap(), &login),
            "201 sends nobody"
        );
    }

    #[test]
    fn of_other_answers_401_and_403_are_failures_and_what_grpc_calls_so() {
        for (status, grpc, is_auth) in [
            (401, None, true),
            (403, None, true),
            (407, None, false),
            (404, None, false),
            (200, Some("16"), true),
            (200, Some("7"), true),
            (200, Some("5"), false),
            (200, Some("0"), false),
        ] {
            let mut response = Response::builder().status(status);
            if let Some(grpc) = grpc {
                response = response.header("grpc-status", grpc);
            }
            let response = response.body(()).unwrap();
            assert_eq!(is_failure(&response, &[]), is_auth, "{status} {grpc:?}");
        }
    }
}
