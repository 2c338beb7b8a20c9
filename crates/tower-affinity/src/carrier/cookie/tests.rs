#![allow(clippy::unwrap_used)]

use cookie::Cookie;
use proptest::prelude::*;

use super::*;

fn names() -> Names<'static> {
    Names::new(&["aff".into()]).into_owned()
}

fn headers(lines: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(COOKIE, HeaderValue::from_bytes(line).unwrap());
    }
    headers
}

fn found(lines: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    candidates(&headers(lines), &names())
        .map(|value| value.map(<[u8]>::to_vec))
        .collect()
}

fn left(lines: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut headers = headers(lines);
    let rest = find(&headers, &names()).rest();
    rest.leave(&mut headers);
    headers
        .get_all(COOKIE)
        .iter()
        .map(|line| line.as_bytes().to_vec())
        .collect()
}

#[test]
fn our_cookie_is_found_wherever_it_stands() {
    let x: Vec<Option<Vec<u8>>> = vec![Some(b"x".to_vec())];
    let lines: [&[&[u8]]; 5] = [
        &[b"aff=x"],
        &[b"a=1; aff=x; b=2"],
        &[b"a=1;aff=x"],
        &[b"a=1", b"aff=x", b"b=2"],
        &[b"a=aff=y; aff=x"],
    ];
    for line in lines {
        assert_eq!(found(line), x, "{line:?}");
    }
}

/// SEC-23, C003, C138.
#[test]
fn look_alikes_are_not_our_cookie() {
    for line in [
        &b"AFF=x"[..],
        b" aff =x",
        b"aff%20=x",
        b"\"aff\"=x",
        b"__host-aff=x",
        b"=aff=x",
        b"notaff=x",
        b"aff2=x",
        b"other=xaff=x",
        b"aff",
        b"aff; note=x",
    ] {
        assert_eq!(found(&[line]), [], "{line:?}");
        assert_eq!(left(&[line]), [line.to_vec()], "{line:?} was changed");
    }
}

#[test]
fn all_candidates_come_in_the_order_in_which_they_were_sent() {
    let sent: &[&[u8]] = &[b"aff=1; a=b; aff=2", b"aff=3"];
    let expected: Vec<_> = [b"1", b"2", b"3"].map(|value| Some(value.to_vec())).into();
    assert_eq!(found(sent), expected);
}

/// In time that grows with its square a megabyte would take minutes.
#[test]
fn a_line_of_white_space_is_gone_over_once() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let line = [vec![b' '; 1 << 20], b"aff=1".to_vec()].concat();
        let names: [Box<str>; 2] = ["aff".into(), "b".into()];
        let headers = headers(&[&line]);
        let found = find(&headers, &Names::new(&names));
        let values: Vec<_> = found
            .values(|_| true)
            .flatten()
            .map(<[u8]>::to_vec)
            .collect();
        sender.send(values).unwrap();
    });
    let found = receiver.recv_timeout(std::time::Duration::from_secs(10));
    assert_eq!(found.expect("it takes too long"), [b"1"]);
}

#[test]
fn cookies_of_all_names_are_found_in_their_order_whatever_the_names_have_in_common() {
    for other in ["aff-o", "af", "b"] {
        let names: [Box<str>; 2] = ["aff".into(), other.into()];
        let line = format!("x=aff=0; {other}=1;aff=2;  {other}=3 4;\taff=; {other}x=5;y{other}=6");
        let headers = headers(&[line.as_bytes()]);
        let found = find(&headers, &Names::new(&names));
        let of = |nth: usize| -> Vec<_> { found.values(move |name| name == nth).collect() };
        assert_eq!(of(0), [Some(&b"2"[..]), Some(b"")], "{other}");
        assert_eq!(of(1), [Some(&b"1"[..]), Some(b"3 4")], "{other}");
        let all: Vec<_> = found.values(|_| true).flatten().collect();
        assert_eq!(all, [&b"1"[..], b"2", b"3 4", b""], "{other}");
    }
}

#[test]
fn only_our_pairs_are_taken_out() {
    let cases: [(&[u8], Option<&[u8]>); 9] = [
        (b"aff=x", None),
        (b"a=1; aff=x; b=2", Some(b"a=1; b=2")),
        (b"aff=x; b=2", Some(b"b=2")),
        (b"a=1; aff=x", Some(b"a=1")),
        (b"a=1;aff=x;b=2", Some(b"a=1;b=2")),
        (b"a=\"1;2\";  aff=x; ;b", Some(b"a=\"1;2\"; ;b")),
        (b"aff=x; aff=y; b=\xff\x80", Some(b"b=\xff\x80")),
        (b"a = 1 ; aff=x ;b=2", Some(b"a = 1 ;b=2")),
        (b"aff=; aff=x", None),
    ];
    for (sent, expected) in cases {
        let expected: Vec<Vec<u8>> = expected.map(<[u8]>::to_vec).into_iter().collect();
        assert_eq!(left(&[sent]), expected, "{}", sent.escape_ascii());
    }
}

/// SEC-25.
#[test]
fn a_planted_cookie_is_removed_and_others_stay_in_order() {
    let mut headers = HeaderMap::new();
    for line in [
        "a=1; Path=/",
        "aff=evil; Path=/",
        " aff =evil2",
        "=aff=evil3; Path=/",
        "= aff=evil4",
        "==aff=x",
        "affx=2",
        "b=3",
    ] {
        headers.append(SET_COOKIE, HeaderValue::from_static(line));
    }
    assert_eq!(remove_set(&mut headers, &names()), 4);
    let left: Vec<_> = headers.get_all(SET_COOKIE).iter().collect();
    assert_eq!(left, ["a=1; Path=/", "==aff=x", "affx=2", "b=3"]);
}

/// SEC-05.
#[test]
fn white_space_around_a_value_is_not_trimmed_away() {
    for line in [&b"aff= x"[..], b"aff=x ; b=2", b"aff=\tx", b"aff= "] {
        assert_eq!(found(&[line]), [None], "{}", line.escape_ascii());
    }
}

proptest! {
    /// The scan agrees with the parser of the `cookie` crate wherever that one accepts the line.
    #[test]
    fn the_scan_agrees_with_the_parser(line in "([ab]?aff?[ =]{0,2}[a-z;= \"]{0,6}; ?){0,5}") {
        let ours: Vec<String> = found(&[line.as_bytes()])
            .into_iter()
            .map(|value| String::from_utf8(value.unwrap_or_default()).unwrap())
            .collect();
        let mut theirs = Vec::new();
        for pair in line.split(';') {
            // the parser trims a name's end, which RFC 6265bis has servers not do
            let exact = pair.trim_start().starts_with("aff=");
            if let Ok(cookie) = Cookie::parse(pair) && exact && cookie.name() == "aff" {
                // white space around a value is none of its spellings
                let value = cookie.value_raw().unwrap();
                let padded = pair.split_once('=').unwrap().1 != value;
                theirs.push(if padded { String::new() } else { value.to_owned() });
            }
        }
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn what_is_not_ours_stays_byte_for_byte(
        before in "([ab]=[^;\\r\\n\\x00-\\x1f\\x7f]{0,8}; ){0,4}",
        after in "(; [ab]=[^;\\r\\n\\x00-\\x1f\\x7f]{0,8}){0,4}",
    ) {
        let sent = format!("{before}aff=x{after}");
        let expected = match (before.is_empty(), after.is_empty()) {
            (_, true) => before.strip_suffix("; ").unwrap_or_default().to_owned(),
            (true, _) => after.strip_prefix("; ").unwrap().to_owned(),
            _ => format!("{}{after}", before.strip_suffix("; ").unwrap()),
        };
        let expected: Vec<Vec<u8>> =
            if expected.is_empty() { vec![] } else { vec![expected.into_bytes()] };
        prop_assert_eq!(left(&[sent.as_bytes()]), expected);
    }
}
