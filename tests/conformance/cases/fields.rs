//! Fields and pseudo-headers that make a request malformed.

use affinity_tests::http2::{Field, request};

use crate::conformance::case::{Case, Expected, case, send};
use crate::conformance::requests::{AUTHORITY, MALFORMED, METHOD, SCHEME};

const PATH: Field<'_> = (":path", MALFORMED);
const BASE: [Field<'_>; 4] = [METHOD, SCHEME, PATH, AUTHORITY];

pub(super) fn cases() -> Vec<Case> {
    [
        names(),
        values(),
        connection(),
        pseudo(),
        missing(),
        targets(),
    ]
    .concat()
}

fn malformed(section: &'static str, what: &str, fields: &[Field<'_>]) -> Case {
    let fact = format!("{what} is malformed");
    case(
        section,
        fact,
        send(request(1, fields)),
        Expected::Malformed(1),
    )
}

/// A request that is as it ought to be, but for one more field.
fn with(section: &'static str, what: &str, field: Field<'_>) -> Case {
    malformed(section, what, &[&BASE[..], &[field]].concat())
}

fn names() -> Vec<Case> {
    let section = "9113 8.2.1";
    vec![
        with("9113 8.2", "a name in upper case", ("X-TEST", "1")),
        with(
            "9113 8.2",
            "a name with one letter in upper case",
            ("x-Test", "1"),
        ),
        with(section, "an empty name", ("", "1")),
        with(section, "a name with a space", ("x test", "1")),
        with(section, "a name with a colon", ("x:test", "1")),
        with(section, "a name with a line break", ("x\r\ntest", "1")),
        with(section, "a name with NUL", ("x\0test", "1")),
        with(section, "a name with DEL", ("x\u{7f}test", "1")),
        with(section, "a name beyond ASCII", ("x-\u{e9}", "1")),
    ]
}

fn values() -> Vec<Case> {
    let section = "9113 8.2.1";
    vec![
        with(section, "a value with NUL", ("x-test", "a\0b")),
        with(section, "a value with CR", ("x-test", "a\rb")),
        with(section, "a value with LF", ("x-test", "a\nb")),
        with(
            section,
            "a value that begins with a space",
            ("x-test", " a"),
        ),
        with(section, "a value that ends with a space", ("x-test", "a ")),
        with(section, "a value that begins with a tab", ("x-test", "\ta")),
    ]
}

fn connection() -> Vec<Case> {
    let section = "9113 8.2.2";
    let named = [
        ("connection", "keep-alive"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
    ];
    let named = named
        .into_iter()
        .map(|field| with(section, &format!("a field {}", field.0), field));
    let te = [
        with(section, "te of another value than trailers", ("te", "gzip")),
        with(
            section,
            "te of trailers and more",
            ("te", "trailers, deflate"),
        ),
    ];
    named.chain(te).collect()
}

fn pseudo() -> Vec<Case> {
    let late = [("x-test", "1"), METHOD, SCHEME, PATH, AUTHORITY];
    let between = [METHOD, SCHEME, ("x-test", "1"), PATH, AUTHORITY];
    let section = "9113 8.3";
    let twice = |field: Field<'static>| {
        with(
            "9113 8.3.1",
            &format!("{} that comes twice", field.0),
            field,
        )
    };
    vec![
        with(section, "an unknown pseudo-header", (":test", "1")),
        with(section, "a pseudo-header of answers", (":status", "200")),
        malformed(section, "a pseudo-header after a field", &late),
        malformed(section, "a pseudo-header between fields", &between),
        twice(METHOD),
        twice(SCHEME),
        twice(PATH),
        twice(AUTHORITY),
    ]
}

fn missing() -> Vec<Case> {
    let section = "9113 8.3.1";
    vec![
        malformed(
            section,
            "a request without :method",
            &[SCHEME, PATH, AUTHORITY],
        ),
        malformed(
            section,
            "a request without :scheme",
            &[METHOD, PATH, AUTHORITY],
        ),
        malformed(
            section,
            "a request without :path",
            &[METHOD, SCHEME, AUTHORITY],
        ),
        malformed(
            section,
            "a request without an authority",
            &[METHOD, SCHEME, PATH],
        ),
        malformed(section, "a request of fields alone", &[("x-test", "1")]),
        malformed(section, "a request without fields", &[]),
        malformed(
            "9113 8.5",
            "CONNECT without :authority",
            &[(":method", "CONNECT")],
        ),
        malformed(
            "9113 8.5",
            "CONNECT with :scheme and :path",
            &[(":method", "CONNECT"), SCHEME, PATH, AUTHORITY],
        ),
    ]
}

fn targets() -> Vec<Case> {
    let section = "9113 8.3.1";
    let path =
        |what: &str, path| malformed(section, what, &[METHOD, SCHEME, (":path", path), AUTHORITY]);
    let authority = |what: &str, authority| {
        malformed(
            section,
            what,
            &[METHOD, SCHEME, PATH, (":authority", authority)],
        )
    };
    let method = |what: &str, method| {
        malformed(
            section,
            what,
            &[(":method", method), SCHEME, PATH, AUTHORITY],
        )
    };
    vec![
        path("an empty :path", ""),
        path("a :path without a slash", "malformed"),
        path("a :path of * for GET", "*"),
        path("a :path with a scheme", "http://shop.example/malformed"),
        path("a :path with a space", "/malformed x"),
        path("a :path with a line break", "/malformed\r\nx"),
        path("a :path with a fragment", "/malformed#x"),
        authority("an :authority with a user", "user@shop.example"),
        authority("an :authority with a space", "shop example"),
        authority("an :authority with a slash", "shop.example/x"),
        authority("an empty :authority", ""),
        method("an empty :method", ""),
        method("a :method with a space", "G T"),
        malformed(
            section,
            "a :scheme that is none",
            &[METHOD, (":scheme", "1 2"), PATH, AUTHORITY],
        ),
        with(
            section,
            "a host that is not the :authority",
            ("host", "other.example"),
        ),
    ]
}
