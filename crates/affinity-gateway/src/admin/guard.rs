//! Who may do what: tokens for changes, and no browser of somebody else's page.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::problem::Problem;
use super::token::AdminToken;

#[derive(Clone, Debug)]
pub(super) struct Guard {
    token: AdminToken,
    loopback: bool,
}

impl Guard {
    pub(super) fn new(token: AdminToken, address: IpAddr) -> Self {
        Self {
            token,
            loopback: address.is_loopback(),
        }
    }

    fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        check_host(headers)?;
        check_site(headers)?;
        let reads = matches!(*method, Method::GET | Method::HEAD);
        if !(reads && self.loopback) {
            self.check_token(headers)?;
        }
        if !reads && !is_json(headers) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media-type",
                "changing calls need content-type: application/json",
            ));
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let shown = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| value.split_once(' '));
        match shown {
            Some((scheme, token))
                if scheme.eq_ignore_ascii_case("bearer") && self.token.matches(token.trim()) =>
            {
                Ok(())
            }
            _ => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "the admin token is missing or wrong",
            )
            .detail("send Authorization: Bearer with the token from listen.admin_token_file")),
        }
    }
}

pub(super) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.admit(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            tracing::warn!(
                status = problem.status,
                reason = problem.kind,
                "admin call denied"
            );
            problem.into_response()
        }
    }
}

/// For what needs no token anywhere, so that a scraper can read it. On loopback a page of another
/// origin is kept out nevertheless; elsewhere scrapers have names for us that we cannot know.
pub(super) async fn check_page(
    State(guard): State<Guard>,
    request: Request,
    next: Next,
) -> Response {
    match check_host(request.headers()) {
        Err(problem) if guard.loopback => problem.into_response(),
        _ => next.run(request).await,
    }
}

/// A page of another origin must not reach the admin side through its visitor's browser: not by a
/// name that it lets point here (the host has to be an address or `localhost`), and not from its
/// own origin.
fn check_host(headers: &HeaderMap) -> Result<(), Problem> {
    let forbidden = |detail| {
        Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden-host",
            "the request is from somewhere else",
        )
        .detail(detail)
    };
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let (Some(host), None) = (host, hosts.next()) else {
        return Err(forbidden("one Host is needed"));
    };
    if !is_address_or_localhost(host) {
        return Err(forbidden(
            "Host must be an IP address or localhost, with the port",
        ));
    }
    match headers.get(ORIGIN).map(|origin| origin.to_str()) {
        None => Ok(()),
        Some(Ok(origin)) if origin.strip_prefix("http://") == Some(host) => Ok(()),
        Some(_) => Err(forbidden("Origin must be that of the admin side itself")),
    }
}

/// Browsers name no origin with a plain read that a foreign page starts, such as that of an image,
/// but they say that it is from elsewhere: it can read nothing, and must not take places either.
fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let sites = headers.get_all(SEC_FETCH_SITE);
    let mut sites = sites.iter().map(HeaderValue::as_bytes);
    match sites.all(|site| matches!(site, b"same-origin" | b"none")) {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden-site",
            "the request is from another page",
        )),
    }
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

fn is_address_or_localhost(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !port.is_empty() => name,
        _ => host,
    };
    let address = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| {
            let essence = kind.split(';').next().unwrap_or_default();
            essence.trim().eq_ignore_ascii_case("application/json")
        })
}
