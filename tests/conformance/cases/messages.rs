//! Requests as a whole: bodies, trailers, lengths.

use affinity_tests::http2::{Field, block, code, flag, frame, kind, request};

use crate::conformance::case::{Case, Expected, case, send};
use crate::conformance::requests::{
    AUTHORITY, GET, MALFORMED, METHOD, PATH, POST, SCHEME, data, get, head, last_data, post,
};

pub(super) fn cases() -> Vec<Case> {
    [exchanges(), trailers(), lengths()].concat()
}

/// The head of a request that nobody may forward once all of it is known.
fn doubtful<'a>(fields: &[Field<'a>]) -> Vec<Field<'a>> {
    let base = [(":method", "POST"), SCHEME, (":path", MALFORMED), AUTHORITY];
    [&base[..], fields].concat()
}

fn exchanges() -> Vec<Case> {
    let crumbs = [&GET[..], &[("cookie", "a=1"), ("cookie", "b=2")]].concat();
    let alone = |fact, fields: &[Field<'_>]| {
        case(
            "9113 8.1",
            fact,
            send(request(1, fields)),
            Expected::Answer(1),
        )
    };
    vec![
        alone("GET is answered", &GET),
        alone(
            "HEAD is answered",
            &[(":method", "HEAD"), SCHEME, PATH, AUTHORITY],
        ),
        alone("POST without a body is answered", &POST),
        alone(
            "OPTIONS is answered",
            &[(":method", "OPTIONS"), SCHEME, PATH, AUTHORITY],
        ),
        alone(
            "a query is served",
            &[METHOD, SCHEME, (":path", "/?a=b"), AUTHORITY],
        ),
        alone(
            "a host may stand for the authority",
            &[METHOD, SCHEME, PATH, ("host", "shop.example")],
        ),
        alone("a cookie in crumbs is served", &crumbs),
        alone(
            "te: trailers is served",
            &[&GET[..], &[("te", "trailers")]].concat(),
        ),
        case(
            "9113 8.1",
            "requests one after another are answered",
            send(get(1)).after_end(1).then(get(3)),
            Expected::Answer(3),
        ),
        case(
            "9113 8.1",
            "requests at once are answered",
            send([post(1), get(3), data(1, b"a"), get(5), last_data(1, b"b")].concat())
                .after_end(5)
                .after_end(3),
            Expected::Answer(1),
        ),
        case(
            "9113 8.1",
            "a malformed request leaves the others alone",
            send([post(1), request(3, &[("x", "1")]), last_data(1, b"body")].concat()),
            Expected::Answer(1),
        ),
    ]
}

fn trailers() -> Vec<Case> {
    let ended = flag::END_HEADERS | flag::END_STREAM;
    let trailer = |flags, fields: &[Field<'_>]| frame(kind::HEADERS, flags, 1, &block(fields));
    let after =
        |trailer: Vec<u8>| send([head(1, &doubtful(&[])), data(1, b"body"), trailer].concat());
    let refused =
        |fact: &str, trailer| case("9113 8.1", fact, after(trailer), Expected::Malformed(1));
    vec![
        case(
            "9113 8.1",
            "a body may end with trailers",
            send([post(1), data(1, b"body"), trailer(ended, &[("x-sum", "1")])].concat()),
            Expected::Answer(1),
        ),
        case(
            "9113 8.1",
            "trailers may follow the head at once",
            send([post(1), trailer(ended, &[("x-sum", "1")])].concat()),
            Expected::Answer(1),
        ),
        refused(
            "second HEADERS that do not end the stream are malformed",
            trailer(flag::END_HEADERS, &[("x-sum", "1")]),
        ),
        refused(
            "trailers with a pseudo-header are malformed",
            trailer(ended, &[METHOD]),
        ),
        refused(
            "trailers with an unknown pseudo-header are malformed",
            trailer(ended, &[(":x", "1")]),
        ),
        refused(
            "trailers with an upper-case name are malformed",
            trailer(ended, &[("X-Sum", "1")]),
        ),
        refused(
            "trailers with a connection field are malformed",
            trailer(ended, &[("connection", "close")]),
        ),
        case(
            "9113 5.1",
            "DATA after trailers is an error",
            send(
                [
                    head(
                        1,
                        &[(":method", "POST"), SCHEME, (":path", "/stuck"), AUTHORITY],
                    ),
                    trailer(ended, &[("x-sum", "1")]),
                    data(1, b"more"),
                ]
                .concat(),
            ),
            Expected::StreamError(1, &[code::STREAM_CLOSED]),
        ),
    ]
}

fn lengths() -> Vec<Case> {
    let with = |length: &str, frames: &[Vec<u8>]| {
        let head = head(1, &doubtful(&[("content-length", length)]));
        send([head, frames.concat()].concat())
    };
    let wrong = |what: &str, script| {
        let fact = format!("content-length {what} is malformed");
        case("9113 8.1.1", fact, script, Expected::Malformed(1))
    };
    let body = || last_data(1, b"body");
    let trailers = frame(kind::HEADERS, 5, 1, &block(&[("x-sum", "1")]));
    let bodiless = doubtful(&[("content-length", "4")]);
    let twice = doubtful(&[("content-length", "4"), ("content-length", "5")]);
    vec![
        case(
            "9113 8.1.1",
            "content-length that is that of the body is served",
            send(
                [
                    head(1, &[&POST[..], &[("content-length", "8")]].concat()),
                    data(1, b"body"),
                    body(),
                ]
                .concat(),
            ),
            Expected::Answer(1),
        ),
        wrong("below the length of the body", with("1", &[body()])),
        wrong(
            "below the length of several DATA",
            with("1", &[data(1, b"body"), body()]),
        ),
        wrong(
            "of the first DATA alone",
            with("4", &[data(1, b"body"), body()]),
        ),
        wrong("above the length of the body", with("5", &[body()])),
        wrong(
            "above the length of several DATA",
            with("9", &[data(1, b"body"), body()]),
        ),
        wrong(
            "above the length of a body with trailers",
            with("5", &[data(1, b"body"), trailers]),
        ),
        wrong("of a request without a body", send(request(1, &bodiless))),
        wrong("of 0 before a body", with("0", &[body()])),
        wrong("that is no number", with("four", &[body()])),
        wrong("with a sign", with("+4", &[body()])),
        wrong("that is empty", with("", &[body()])),
        wrong("of two values", send([head(1, &twice), body()].concat())),
        wrong("above 2^64", with("18446744073709551620", &[body()])),
    ]
}
