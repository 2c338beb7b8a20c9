//! [`Head`]: a request's head, kept for another attempt.

use std::fmt;

use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header};

/// A head that a request can be made of again.
///
/// Nearly none is needed, but each could be. A clone of its fields would take an allocation for each
/// name and value that has one of its own, and count up and down for each that shares one; here they
/// are text in one piece, and are read again only when they are needed.
pub(super) struct Head {
    method: Method,
    uri: Uri,
    version: Version,
    fields: Fields,
    extensions: Extensions,
}

/// The fields one after another: a [`Form`], the name, the value.
struct Fields(Vec<u8>);

/// What a field is like: the length of its name above, which is less than 2^16, that of its value
/// below, and between them whether the value is sensitive.
struct Form(u64);

/// Enough for most heads, so that it does not have to grow.
const TYPICAL: usize = 1024;

impl Head {
    /// A copy of `head`, whose extensions are taken out of it.
    pub(super) fn of(head: &mut Parts) -> Self {
        Self {
            method: head.method.clone(),
            uri: head.uri.clone(),
            version: head.version,
            fields: Fields::of(&head.headers),
            extensions: std::mem::take(&mut head.extensions),
        }
    }

    /// A request with this head and `body`; `None` if the fields cannot be read again, which is a
    /// mistake of ours.
    pub(super) fn request<B>(&self, body: B) -> Option<Request<B>> {
        let mut request = Request::new(body);
        *request.headers_mut() = self.fields.read()?;
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = self.version;
        *request.extensions_mut() = self.extensions.clone();
        Some(request)
    }

    pub(super) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Whether carrying the request out twice is the same as once (RFC 9110, section 9.2.2). An
    /// upgrade is not: its tunnel begins anew.
    pub(super) fn is_idempotent(&self) -> bool {
        let method = matches!(
            self.method,
            Method::GET
                | Method::HEAD
                | Method::OPTIONS
                | Method::TRACE
                | Method::PUT
                | Method::DELETE
        );
        method
            && !self
                .fields
                .each()
                .any(|field| field.name == header::UPGRADE.as_str().as_bytes())
    }
}

/// One field as it is kept.
struct Field<'a> {
    name: &'a [u8],
    value: &'a [u8],
    is_sensitive: bool,
}

impl Form {
    const NAME: u32 = 48;
    const SENSITIVE: u32 = 47;

    fn of(name: &str, value: &HeaderValue) -> Self {
        let sensitive = u64::from(value.is_sensitive()) << Self::SENSITIVE;
        Self((name.len() as u64) << Self::NAME | sensitive | value.len() as u64)
    }

    fn name(&self) -> usize {
        (self.0 >> Self::NAME) as usize
    }

    fn value(&self) -> usize {
        (self.0 & ((1 << Self::SENSITIVE) - 1)) as usize
    }

    fn is_sensitive(&self) -> bool {
        self.0 >> Self::SENSITIVE & 1 == 1
    }
}

impl Fields {
    fn of(headers: &HeaderMap) -> Self {
        let mut text = Vec::with_capacity(TYPICAL);
        for (name, value) in headers {
            let name = name.as_str();
            let Form(form) = Form::of(name, value);
            text.extend_from_slice(&form.to_ne_bytes());
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(value.as_bytes());
        }
        Self(text)
    }

    fn each(&self) -> impl Iterator<Item = Field<'_>> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (form, after) = rest.split_first_chunk()?;
            let form = Form(u64::from_ne_bytes(*form));
            let (name, after) = after.split_at_checked(form.name())?;
            let (value, after) = after.split_at_checked(form.value())?;
            rest = after;
            Some(Field {
                name,
                value,
                is_sensitive: form.is_sensitive(),
            })
        })
    }

    fn read(&self) -> Option<HeaderMap> {
        let mut headers = HeaderMap::with_capacity(self.each().count());
        for field in self.each() {
            let mut value = HeaderValue::from_bytes(field.value).ok()?;
            value.set_sensitive(field.is_sensitive);
            headers.append(HeaderName::from_bytes(field.name).ok()?, value);
        }
        Some(headers)
    }
}

/// Neither fields nor the target: what a client has sent has no place in a log.
impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_made_again_as_it_was() {
        let mut request = Request::put("https://shop.example/step?n=1")
            .version(Version::HTTP_2)
            .extension(7_u8)
            .header("cookie", "a=1")
            .header("accept", "text/html")
            .header("cookie", "b=2")
            .header("x-empty", "")
            .header("x-opaque", HeaderValue::from_bytes(b"\xe4\xff").unwrap())
            .header("x-long", "v".repeat(5_000))
            .body(())
            .unwrap();
        let accept = request.headers_mut().get_mut("accept");
        accept.unwrap().set_sensitive(true);
        let (mut parts, ()) = request.into_parts();
        let again = Head::of(&mut parts).request(()).unwrap();
        assert_eq!(again.method(), parts.method);
        assert_eq!(again.uri(), &parts.uri);
        assert_eq!(again.version(), parts.version);
        assert_eq!(again.headers(), &parts.headers);
        assert_eq!(again.extensions().get(), Some(&7_u8));
        let sensitive = again.headers().iter().filter(|(_, v)| v.is_sensitive());
        let sensitive: Vec<&str> = sensitive.map(|(name, _)| name.as_str()).collect();
        assert_eq!(sensitive, ["accept"]);
    }

    #[test]
    fn an_upgrade_and_a_post_are_not_carried_out_twice() {
        for (method, upgrade, twice) in [
            (Method::GET, false, true),
            (Method::GET, true, false),
            (Method::POST, false, false),
        ] {
            let request = Request::builder().method(method.clone());
            let request = match upgrade {
                true => request.header("upgrade", "websocket"),
                false => request.header("x-upgrade", "websocket"),
            };
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(
                Head::of(&mut parts).is_idempotent(),
                twice,
                "{method}, upgrade {upgrade}"
            );
        }
    }
}
