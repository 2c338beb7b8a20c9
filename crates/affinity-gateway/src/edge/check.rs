//! The rules of the edge, as a function of the request's head.
//!
//! What cannot be read as one request with one framing does not come here: on HTTP/1.1
//! [`serve`](crate::serve) refuses it before hyper sees it, on HTTP/2 h2 resets the stream. The
//! rule about framing below still holds for other servers.

use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version, header, uri::Authority,
};

use hyper::ext::Protocol;

use super::refusal::Refusal;

/// Whether the request may go on; if not, the answer.
pub(super) fn check<B>(request: &Request<B>, max_target: usize) -> Result<(), Refusal> {
    let uri = request.uri();
    method(request)?;
    target(request.method(), uri, max_target)?;
    let fields = Fields::of(request.headers());
    host(uri, &fields, request.version())?;
    connection(&fields)?;
    framing(&fields)
}

/// The fields of a head that there is a rule about. They are found in one pass: most heads have few
/// fields, of which each is compared with less work than one is looked up.
#[derive(Debug, Default)]
struct Fields<'h> {
    /// The first of so many.
    host: Option<&'h HeaderValue>,
    hosts: usize,
    lengths: usize,
    is_coded: bool,
    /// Whether `Connection` names a field that must be passed on.
    drops_needed: bool,
}

impl<'h> Fields<'h> {
    fn of(headers: &'h HeaderMap) -> Self {
        let mut fields = Self::default();
        for (name, value) in headers {
            if name == header::HOST {
                fields.host = fields.host.or(Some(value));
                fields.hosts += 1;
            } else if name == header::CONNECTION {
                fields.drops_needed |= names_needed(value);
            } else if name == header::CONTENT_LENGTH {
                fields.lengths += 1;
            } else if name == header::TRANSFER_ENCODING {
                fields.is_coded = true;
            }
        }
        fields
    }
}

fn method<B>(request: &Request<B>) -> Result<(), Refusal> {
    let method = request.method();
    if method == Method::CONNECT
        && let Some(protocol) = request.extensions().get::<Protocol>()
    {
        // An extended one names its target like any other request, and what it is for.
        return match protocol.as_str() {
            "websocket" => Ok(()),
            _ => Err(Refusal::bad(
                StatusCode::NOT_IMPLEMENTED,
                "Only WebSockets are opened by an extended CONNECT here.",
            )),
        };
    }
    // A tunnel to anywhere is not ours to give, and TRACE would show our fields to the client.
    if method == Method::CONNECT || method == Method::TRACE {
        return Err(Refusal::bad(
            StatusCode::METHOD_NOT_ALLOWED,
            "This method is not served here.",
        ));
    }
    Ok(())
}

fn target(method: &Method, uri: &Uri, max_target: usize) -> Result<(), Refusal> {
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    if target.len() > max_target {
        return Err(Refusal::bad(
            StatusCode::URI_TOO_LONG,
            "The request target is too long.",
        ));
    }
    let whole_server = target == "*" && method == Method::OPTIONS;
    if !target.starts_with('/') && !whole_server {
        return Err(Refusal::bad_request("The request target must be a path."));
    }
    if uri
        .scheme_str()
        .is_some_and(|scheme| scheme != "http" && scheme != "https")
    {
        return Err(Refusal::bad_request(
            "The request target has an unknown scheme.",
        ));
    }
    Ok(())
}

/// Exactly one host, named in one way or twice alike.
fn host(uri: &Uri, fields: &Fields<'_>, version: Version) -> Result<(), Refusal> {
    let host = fields.host;
    if fields.hosts > 1 {
        return Err(Refusal::bad_request("There is more than one Host field."));
    }
    // the most common host needs no parse, which would allocate
    if uri.authority().is_none() && host.is_some_and(|host| is_plain(host.as_bytes())) {
        return Ok(());
    }
    let host = host.map(parse).transpose()?;
    match (uri.authority(), host) {
        (Some(authority), _) if authority.as_str().contains('@') => Err(Refusal::bad_request(
            "The request target holds credentials.",
        )),
        (Some(authority), Some(host)) if !same(uri, authority, &host) => Err(Refusal::bad_request(
            "Host is not the host of the request target.",
        )),
        // HTTP/2 has its authority in place of the field, HTTP/1.1 needs both.
        (Some(_), None) if version >= Version::HTTP_2 => Ok(()),
        (_, None) => Err(Refusal::bad_request("There is no Host field.")),
        (_, Some(_)) => Ok(()),
    }
}

/// Whether this is a name or an IPv4 address, with or without a port.
fn is_plain(host: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let end = host.iter().position(|byte| !is_name(byte));
    let (name, rest) = host.split_at(end.unwrap_or(host.len()));
    !name.is_empty()
        && match rest {
            [] => true,
            [b':', port @ ..] => !port.is_empty() && port.iter().all(u8::is_ascii_digit),
            _ => false,
        }
}

fn parse(host: &HeaderValue) -> Result<Authority, Refusal> {
    Authority::try_from(host.as_bytes())
        .ok()
        .filter(|host| !host.as_str().contains('@'))
        .ok_or(Refusal::bad_request("Host is not a host."))
}

fn same(uri: &Uri, left: &Authority, right: &Authority) -> bool {
    let default = if uri.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    left.host().eq_ignore_ascii_case(right.host())
        && left.port_u16().unwrap_or(default) == right.port_u16().unwrap_or(default)
}

/// Fields that an endpoint needs to read the request cannot belong to one connection only.
fn connection(fields: &Fields<'_>) -> Result<(), Refusal> {
    if fields.drops_needed {
        return Err(Refusal::bad_request(
            "Connection names a field that must be passed on.",
        ));
    }
    Ok(())
}

fn names_needed(connection: &HeaderValue) -> bool {
    let names = connection.as_bytes().split(|byte| *byte == b',');
    names.map(<[u8]>::trim_ascii).any(|name| {
        name.starts_with(b":")
            || NEEDED
                .iter()
                .any(|needed| name.eq_ignore_ascii_case(needed.as_bytes()))
    })
}

fn framing(fields: &Fields<'_>) -> Result<(), Refusal> {
    if fields.lengths > 1 || (fields.lengths == 1 && fields.is_coded) {
        return Err(Refusal::bad_request("The length of the body is ambiguous."));
    }
    Ok(())
}

const NEEDED: [&str; 4] = [
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plain_host_is_one_that_can_be_parsed(host in "[a-z0-9.:@%\\[\\]_ -]{0,20}") {
            let parsed = HeaderValue::from_str(&host).ok().map(|host| parse(&host).is_ok());
            prop_assert!(!is_plain(host.as_bytes()) || parsed == Some(true), "{host:?}");
        }
    }

    #[test]
    fn names_and_addresses_are_plain() {
        for host in ["a", "shop.example", "shop-1.example:8080", "127.0.0.1:80"] {
            assert!(is_plain(host.as_bytes()), "{host}");
        }
        for host in ["", ":80", "a:", "a:b", "a:1:2", "[::1]", "a@b", "a b"] {
            assert!(!is_plain(host.as_bytes()), "{host}");
        }
    }
}
