//! Bad input: what is too much or not of its form is dropped and counted, and never an error.

use super::{PARENT, dropped, handed_on};

#[test]
fn what_is_in_order_goes_on_as_it_came() {
    let (got, dropped) = handed_on(&[
        ("affinity-pin", b"a.b.c"),
        ("traceparent", PARENT.as_bytes()),
        ("tracestate", b"a=1"),
        ("tracestate", b"b@c=2 3 , d=4"),
        ("baggage", b"user=7;p;q=1,plan=%C3%A9"),
        ("baggage", b"last = 1"),
    ]);
    assert_eq!(dropped, [""; 0]);
    assert_eq!(got["affinity-pin"], "a.b.c");
    assert!(got["affinity-pin"].is_sensitive());
    assert_eq!(got["traceparent"], PARENT);
    assert_eq!(got["tracestate"], "a=1,b@c=2 3,d=4");
    assert_eq!(got["baggage"], "user=7;p;q=1,plan=%C3%A9,last = 1");
}

#[test]
fn a_baggage_bomb_is_cut_at_the_right_or_dropped_whole() {
    let megabyte = vec![b'x'; 1 << 20];
    let (got, counted) = handed_on(&[("baggage", &megabyte)]);
    assert!(got.is_empty() && counted == dropped("baggage"));

    let commas = vec![b','; 1 << 20];
    let (got, counted) = handed_on(&[("baggage", &commas)]);
    assert!(got.is_empty() && counted == dropped("baggage"));

    let many: Vec<String> = (0..10_000).map(|nth| format!("k{nth}=v")).collect();
    let (got, counted) = handed_on(&[("baggage", many.join(",").as_bytes())]);
    assert!(got.is_empty() && counted == dropped("baggage"));

    let (got, counted) = handed_on(&[("baggage", many[..80].join(",").as_bytes())]);
    assert_eq!(got["baggage"], many[..64].join(","));
    assert_eq!(counted, dropped("baggage"));

    let long = format!("a=1,b={},c=3", "x".repeat(8_190));
    let (got, counted) = handed_on(&[("baggage", long.as_bytes())]);
    assert_eq!(got["baggage"], "a=1", "what stands at the right goes");
    assert_eq!(counted, dropped("baggage"));

    let most = format!("a={}", "x".repeat(8_190));
    let (got, counted) = handed_on(&[("baggage", most.as_bytes())]);
    assert_eq!((got["baggage"].len(), counted.len()), (8_192, 0));
}

#[test]
fn members_of_the_baggage_that_are_none_are_left_out() {
    for bad in [
        &b"bad%zz=1"[..],
        b"k=%",
        b"k=%4",
        b"k=%4g",
        b"k",
        b"=v",
        b"k=\"v\"",
        b"k=a b",
        b"k=v;=p",
        b"k=v;",
        b"k=\xc3\xa9",
        b"k\xff=1",
        b"k=\t\x80",
        b"k(=1",
    ] {
        let line = [b"a=1,", bad, b",z=2"].concat();
        let (got, counted) = handed_on(&[("baggage", &line)]);
        let sent = String::from_utf8_lossy(bad);
        if bad == b"bad%zz=1" {
            // a key may have a percent sign
            assert_eq!(got["baggage"].as_bytes(), line);
        } else {
            assert_eq!(got["baggage"], "a=1,z=2", "{sent}");
            assert_eq!(counted, dropped("baggage"), "{sent}");
        }
    }
    let (got, counted) = handed_on(&[("baggage", b"")]);
    assert!(got.is_empty() && counted.is_empty(), "an empty one is none");
}

#[test]
fn a_parent_of_a_trace_is_one_or_none() {
    let state = ("tracestate", &b"a=1"[..]);
    for bad in [
        "",
        "00",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
        "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
        "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
    ] {
        let (got, counted) = handed_on(&[("traceparent", bad.as_bytes()), state]);
        assert!(got.is_empty(), "{bad}: {got:?}");
        assert_eq!(counted, dropped("traceparent"), "{bad}");
    }
    let doubled = ("traceparent", PARENT.as_bytes());
    let (got, counted) = handed_on(&[doubled, doubled, state]);
    assert!(got.is_empty(), "which of two it is nobody knows: {got:?}");
    assert_eq!(counted, dropped("traceparent"));
    let (got, counted) = handed_on(&[state]);
    assert!(
        got.is_empty() && counted.is_empty(),
        "a state alone says nothing"
    );
}

#[test]
fn a_parent_of_a_later_version_goes_on_in_the_form_that_is_known() {
    let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more";
    let (got, counted) = handed_on(&[("traceparent", later.as_bytes())]);
    assert_eq!(got["traceparent"], PARENT);
    assert!(counted.is_empty());
}

#[test]
fn a_state_is_bounded_as_w3c_says() {
    let with = |state: &str| {
        let parent = ("traceparent", PARENT.as_bytes());
        let (got, counted) = handed_on(&[parent, ("tracestate", state.as_bytes())]);
        assert_eq!(got["traceparent"], PARENT, "the trace goes on without it");
        let state = got.get("tracestate").cloned();
        (
            state.map(|state| state.to_str().unwrap().to_owned()),
            counted,
        )
    };
    let members = |count: usize, len: usize| -> Vec<String> {
        let member = |nth| format!("k{nth:02}={}", "v".repeat(len - 4));
        (0..count).map(member).collect()
    };
    let most = members(32, 10);
    assert_eq!(with(&most.join(",")), (Some(most.join(",")), vec![]));
    assert_eq!(
        with(&members(33, 10).join(",")),
        (None, dropped("tracestate"))
    );

    let long = members(10, 100);
    let kept = long[..5].join(",");
    assert_eq!(with(&long.join(",")), (Some(kept), dropped("tracestate")));

    let mixed = [members(1, 200), members(4, 100)].concat();
    let kept = mixed[1..].join(",");
    let message = "the long one goes first";
    assert_eq!(
        with(&mixed.join(",")),
        (Some(kept), dropped("tracestate")),
        "{message}"
    );

    for bad in ["novalue", "=v", "K=1", "k=", "a=1,k=a=b", &"x".repeat(600)] {
        assert_eq!(with(bad), (None, dropped("tracestate")), "{bad}");
    }
    assert_eq!(with(&"a=1,".repeat(1 << 18)), (None, dropped("tracestate")));
}

#[test]
fn a_pin_that_comes_twice_or_is_too_long_goes_nowhere() {
    let long = [b'x'; 513];
    for headers in [
        &[("affinity-pin", &b"a.b.c"[..]), ("affinity-pin", b"d.e.f")][..],
        &[("affinity-pin", &long)],
        &[("affinity-pin", b"")],
    ] {
        let (got, counted) = handed_on(headers);
        assert!(got.is_empty(), "{got:?}");
        assert_eq!(counted, dropped("pin"));
    }
}
