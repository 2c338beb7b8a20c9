//! The query parameter `affinity-pin`, for clients that cannot set headers on an upgrade: a
//! browser's `WebSocket` on another site gets no cookie. Read on upgrades only, never written.

use http::header::{CONNECTION, HeaderMap, UPGRADE};
use http::uri::{PathAndQuery, Uri};
use http::{Method, Request};

const NAME: &str = "affinity-pin";

/// Takes the parameter out of the target of an upgrade: its first value that is not empty.
///
/// The other parameters stay as they are, byte for byte.
pub(crate) fn take<B>(request: &mut Request<B>) -> Option<Box<str>> {
    let query = request.uri().query()?;
    let shows = parameters(query).any(is_ours);
    if !shows || !is_upgrade(request.method(), request.headers()) {
        return None;
    }
    let found = parameters(query).filter(|parameter| is_ours(parameter));
    let found = found
        .filter_map(|parameter| Some(parameter.split_once('=')?.1))
        .find(|value| !value.is_empty())
        .map(Box::from);
    let rest: Vec<_> = parameters(query).filter(|p| !is_ours(p)).collect();
    let target = match rest.is_empty() {
        true => request.uri().path().to_owned(),
        false => format!("{}?{}", request.uri().path(), rest.join("&")),
    };
    let mut parts = request.uri().clone().into_parts();
    // a part of what was a target is one
    parts.path_and_query = PathAndQuery::try_from(target).ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    found
}

fn parameters(query: &str) -> impl Iterator<Item = &str> {
    query.split('&')
}

fn is_ours(parameter: &str) -> bool {
    let name = parameter.split('=').next();
    name == Some(NAME)
}

/// HTTP/1.1 asks by `Upgrade`, HTTP/2 by an extended `CONNECT` (RFC 8441).
fn is_upgrade(method: &Method, headers: &HeaderMap) -> bool {
    let asks = || {
        headers.get_all(CONNECTION).iter().any(|value| {
            value
                .as_bytes()
                .split(|byte| *byte == b',')
                .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
        })
    };
    *method == Method::CONNECT || (headers.contains_key(UPGRADE) && asks())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::header::HeaderValue;

    use super::*;

    fn taken(method: Method, target: &str, upgrade: bool) -> (Option<String>, String) {
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().unwrap();
        if upgrade {
            let headers = request.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        }
        let pin = take(&mut request).map(String::from);
        (pin, request.uri().to_string())
    }

    #[test]
    fn the_parameter_of_an_upgrade_is_taken_out_and_the_others_stay() {
        for (target, pin, rest) in [
            ("/ws?affinity-pin=x.y.z", Some("x.y.z"), "/ws"),
            ("/ws?a=%20&affinity-pin=x&b", Some("x"), "/ws?a=%20&b"),
            (
                "/ws?affinity-pin=&affinity-pin=x&affinity-pin=y",
                Some("x"),
                "/ws",
            ),
            ("/ws?affinity-pin&a=1", None, "/ws?a=1"),
            (
                "/ws?xaffinity-pin=x&affinity-pinx=y",
                None,
                "/ws?xaffinity-pin=x&affinity-pinx=y",
            ),
            (
                "http://shop.example/ws?affinity-pin=x",
                Some("x"),
                "http://shop.example/ws",
            ),
            ("/ws", None, "/ws"),
        ] {
            let expected = (pin.map(String::from), rest.to_owned());
            assert_eq!(taken(Method::GET, target, true), expected, "{target}");
            assert_eq!(taken(Method::CONNECT, target, false), expected, "{target}");
        }
    }

    #[test]
    fn other_requests_keep_theirs() {
        let target = "/?affinity-pin=x";
        assert_eq!(taken(Method::GET, target, false), (None, target.to_owned()));
    }
}
