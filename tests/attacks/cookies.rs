//! The cookie as the carrier: duplicates, look-alikes, broken values, and what goes on.

use affinity_gateway::config::Settings;
use affinity_tests::config::COOKIE;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::time::Instant;

use super::support::{A, B, Forged, Site, ask, get, h2, talk};

/// The same cookies in four spellings: one line or two of HTTP/1.1, one crumb or two of HTTP/2.
async fn spellings(site: &Site, first: &str, second: &str) -> Vec<(&'static str, String)> {
    let to = site.address();
    let mut results = Vec::new();
    for spelling in ["one line", "two lines", "one crumb", "two crumbs"] {
        let together = format!("{COOKIE}={first}; {COOKIE}={second}");
        let apart = [format!("{COOKIE}={first}"), format!("{COOKIE}={second}")];
        let request = Request::get("http://shop.example/");
        match spelling {
            "one line" => drop(ask(to, together).await),
            "two lines" => {
                let lines = apart.map(|cookie| format!("cookie: {cookie}\r\n"));
                talk(to, get(lines.concat())).await;
            }
            "one crumb" => {
                let request = request.header("cookie", together);
                h2(to, request.body(Full::<Bytes>::default()).unwrap())
                    .await
                    .unwrap();
            }
            _ => {
                let request = apart
                    .iter()
                    .fold(request, |all, crumb| all.header("cookie", crumb));
                h2(to, request.body(Full::<Bytes>::default()).unwrap())
                    .await
                    .unwrap();
            }
        }
        let (a, b) = (site.a.take(), site.b.take());
        assert_eq!(a.len() + b.len(), 1, "{spelling}");
        let group = if a.is_empty() { B } else { A };
        let seen = a.first().or(b.first()).unwrap();
        assert!(
            seen.fields("cookie").is_empty(),
            "{spelling}: our cookie went on"
        );
        let session = seen.field("affinity-session").unwrap_or_default();
        results.push((group, format!("{} {session}", seen.decision())));
    }
    results
}

#[tokio::test]
async fn sec_21_the_order_of_two_cookies_decides_nothing() {
    let site = Site::start().await;
    // the attacker's is older: the victim's was issued under a greater revision
    let (attackers, victims) = (site.pin_b().await, site.pin_a().await);
    let mut results = spellings(&site, &attackers, &victims).await;
    results.extend(spellings(&site, &victims, &attackers).await);
    for result in &results {
        assert_eq!(result, &results[0], "the spelling decided: {results:?}");
        assert_eq!(result.0, A);
    }
    // and of two of one revision
    let again = site.pin_a().await;
    let mut results = spellings(&site, &again, &victims).await;
    results.extend(spellings(&site, &victims, &again).await);
    assert!(
        results.iter().all(|result| result == &results[0]),
        "{results:?}"
    );
}

#[tokio::test]
async fn sec_21_of_a_valid_and_an_invalid_cookie_the_valid_one_wins() {
    let site = Site::start().await;
    let valid = site.pin_b().await;
    let forged = Forged::of(&valid).sign_with(b"not the key, but as long as one is");
    for invalid in [&*forged, "", "x", "a.b.c"] {
        let mut results = spellings(&site, invalid, &valid).await;
        results.extend(spellings(&site, &valid, invalid).await);
        for (group, decision) in results {
            assert_eq!(group, B, "{invalid:?}: {decision}");
            assert!(
                decision.starts_with("pinned; cause=ok"),
                "{invalid:?}: {decision}"
            );
        }
    }
}

#[tokio::test]
async fn sec_21_more_than_four_candidates_are_none() {
    let site = Site::start().await;
    let valid = site.pin_b().await;
    for count in 1..8 {
        let mut cookies = vec![format!("{COOKIE}=x"); count - 1];
        cookies.push(format!("{COOKIE}={valid}"));
        ask(site.address(), cookies.join("; ")).await;
        let (a, b) = (site.a.take(), site.b.take());
        if count <= 4 {
            assert_eq!((a.len(), b.len()), (0, 1), "{count} cookies");
        } else {
            assert_eq!(b.len(), 0, "{count} cookies");
            assert_eq!(a[0].decision(), "assigned; cause=duplicates");
        }
    }
    assert_eq!(site.rejected("duplicates").await, 3.0);
}

#[tokio::test]
async fn sec_22_the_cookie_is_one_that_no_sibling_can_overwrite() {
    let site = Site::start().await;
    let reply = talk(site.address(), get("")).await;
    let lines = reply.fields("set-cookie");
    assert_eq!(lines.len(), 1);
    let mut parts: Vec<&str> = lines[0].split("; ").collect();
    assert!(parts.remove(0).starts_with("__Host-affinity-checkout="));
    parts.sort_unstable();
    assert_eq!(
        parts,
        [
            "HttpOnly",
            "Max-Age=1800",
            "Path=/",
            "SameSite=Lax",
            "Secure"
        ]
    );
}

#[tokio::test]
async fn sec_22_sec_28_a_cookie_that_browsers_refuse_or_that_breaks_its_line_is_refused() {
    let site = Site::start().await;
    for cookie in [
        r#"domain = "example""#,
        r#"path = "/x""#,
        r#"name = "a;b""#,
        r#"name = "a\r\nset-cookie: b""#,
        r#"name = "a=b""#,
        r#"name = "a b""#,
        r#"name = """#,
        r#"name = "\u202e""#,
        r#"secure = false, name = "__Host-x""#,
        r#"secure = false, name = "__host-x""#,
        r#"secure = false, same_site = "none""#,
        r#"secure = false, partitioned = true"#,
        r#"same_site = "lax; domain=x""#,
    ] {
        let mut config = site.config.clone();
        config.pin = format!("cookie = {{ {cookie} }}");
        let file = config.write(&site.dir, "wrong.toml");
        let refused = Settings::load(&file).expect_err(cookie).to_string();
        assert!(!refused.contains(['\r', '\u{202e}']), "{refused:?}");
    }
    for sections in [
        "[[scope]]\npath = \"/*\"\nrestart_url = \"/a\\r\\nx: y\"\n",
        "[[scope]]\npath = \"/a\\r\\n*\"\n",
        "[[scope]]\npath = \"/*\"\nassign = \"header:a b\"\n",
        "[[scope]]\npath = \"/*\"\nassign = \"cookie:a;b\"\n",
    ] {
        let mut config = site.config.clone();
        config.sections = sections.to_owned();
        let file = config.write(&site.dir, "wrong.toml");
        Settings::load(&file).expect_err(sections);
    }
}

#[tokio::test]
async fn sec_23_look_alikes_are_somebody_elses() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let lower = COOKIE.to_lowercase();
    for name in [
        lower.as_str(),
        "__HOST-AFFINITY-CHECKOUT",
        "affinity-checkout",
        "__Host-affinity-checkout ",
        "__Host-affinity-checkout%20",
        "\"__Host-affinity-checkout\"",
        "__Host-affinity-checkou",
        "__Host-affinity-checkoutx",
        "x__Host-affinity-checkout",
        "__Host-affinity-checkout\u{b}",
        "=__Host-affinity-checkout",
        "",
    ] {
        let line = format!("a=1; {name}={pin}; b=2");
        let reply = ask(site.address(), &line).await;
        if reply.status() == 400 {
            continue;
        }
        assert_eq!(reply.status(), 200, "{name:?}");
        assert!(site.b.take().is_empty(), "{name:?} was obeyed");
        let seen = site.a.take();
        assert_eq!(seen[0].decision(), "assigned; cause=new", "{name:?}");
        assert_eq!(seen[0].fields("cookie"), [line.as_bytes()], "{name:?}");
    }
}

#[tokio::test]
async fn sec_23_a_pin_in_the_override_s_place_is_neither_and_goes_no_further() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let line = format!("a=1; __Host-affinity-checkout.override={pin}; b=2");
    assert_eq!(ask(site.address(), &line).await.status(), 200);
    assert!(
        site.b.take().is_empty(),
        "a pin chose a group as an override"
    );
    let seen = site.a.take();
    assert_eq!(seen[0].decision(), "assigned; cause=new");
    assert_eq!(seen[0].fields("cookie"), [b"a=1; b=2"]);
}

#[tokio::test]
async fn sec_24_broken_values_are_no_pin_and_leave_the_others_alone() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let broken: Vec<Vec<u8>> = vec![
        format!("\"{pin}\"").into(),
        format!("{pin},x=1").into(),
        format!("\"{}", &pin[..40]).into(),
        Vec::new(),
        vec![0x80, 0xff],
        [pin.as_bytes(), &[0xe9]].concat(),
        [&[0xc3, 0xa9], pin.as_bytes()].concat(),
        format!("{pin}{pin}").into(),
        format!("{pin}={pin}").into(),
        b"{}".to_vec(),
        b"..".to_vec(),
    ];
    for value in broken {
        let shown = String::from_utf8_lossy(&value).into_owned();
        let others: (&[u8], &[u8]) = (b"a=\"1\"; \xe9=\xff", b"c; ; d= 2 ;e");
        let line = [
            others.0,
            b"; ",
            COOKIE.as_bytes(),
            b"=",
            &value,
            b"; ",
            others.1,
        ]
        .concat();
        let reply = ask(site.address(), &line).await;
        assert_eq!(reply.status(), 200, "{shown}");
        assert!(reply.pin().is_some(), "{shown}: no fresh pin");
        assert!(site.b.take().is_empty(), "{shown} was obeyed");
        let kept = [others.0, b"; ", others.1].concat();
        let seen = site.a.take();
        assert_eq!(seen[0].fields("cookie"), [kept], "{shown}");
    }
    // without an equals sign it is a value without a name; a quoted semicolon ends a pair
    for (line, kept) in [
        (
            format!("a=1; {COOKIE}; b=2"),
            Some(format!("a=1; {COOKIE}; b=2")),
        ),
        (
            format!("{COOKIE}=\"x;{COOKIE}={pin}\"; b=2"),
            Some("b=2".to_owned()),
        ),
        (format!("{COOKIE}="), None),
    ] {
        let reply = ask(site.address(), &line).await;
        assert_eq!(reply.status(), 200);
        let seen = site.a.take();
        assert!(site.b.take().is_empty());
        let kept: Vec<Vec<u8>> = kept.into_iter().map(String::into_bytes).collect();
        assert_eq!(seen[0].fields("cookie"), kept, "{line}");
    }
}

#[tokio::test]
async fn sec_25_the_app_never_sees_the_pin_and_every_other_byte_as_it_came() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let ours = format!("{COOKIE}={pin}");
    for (sent, kept) in [
        (vec![ours.clone()], vec![]),
        (vec![format!("{ours}; a=1")], vec!["a=1"]),
        (vec![format!("a=1; {ours}")], vec!["a=1"]),
        (
            vec![format!("a=1; {ours}; b=2;c=3 ;  d=\"4\"")],
            vec!["a=1; b=2;c=3 ;  d=\"4\""],
        ),
        (vec![format!("a=1;{ours};b=2")], vec!["a=1;b=2"]),
        (
            vec!["z=9".to_owned(), ours.clone(), "a=1; a=1".to_owned()],
            vec!["z=9", "a=1; a=1"],
        ),
        (
            vec![format!("{ours}; {ours}"), format!("b=; {ours}")],
            vec!["b="],
        ),
        (
            vec![format!("a==; {ours}; $Version=1; b%20=%3b")],
            vec!["a==; $Version=1; b%20=%3b"],
        ),
    ] {
        let lines: String = sent
            .iter()
            .map(|line| format!("Cookie: {line}\r\n"))
            .collect();
        let reply = talk(site.address(), get(&lines)).await;
        assert_eq!(reply.status(), 200);
        let seen = site.b.take();
        assert_eq!(seen.len(), 1, "{lines}");
        let expected: Vec<_> = kept.iter().map(|line| line.as_bytes().to_vec()).collect();
        assert_eq!(seen[0].fields("cookie"), expected, "{lines}");
        assert!(
            !seen[0].shown().contains(&pin),
            "the pin is elsewhere: {}",
            seen[0].shown()
        );
    }
}

#[tokio::test]
async fn sec_25_the_app_plants_no_pin() {
    let site = Site::start().await;
    let stolen = site.pin_b().await;
    site.a.answer(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\
         Set-Cookie: a=1; Path=/\r\n\
         Set-Cookie: {COOKIE}={stolen}; Path=/; Secure\r\n\
         Set-Cookie:  {COOKIE} = {stolen}\r\n\
         Set-Cookie: {COOKIE}=\r\n\
         Set-Cookie: ={COOKIE}={stolen}; Path=/\r\n\
         Set-Cookie: = {COOKIE}={stolen}\r\n\
         affinity-pin: {stolen}\r\n\
         Set-Cookie: b=2; {COOKIE}=3\r\n\r\nok"
    ));
    let pin = site.pin_a().await;
    let reply = site.show(&pin).await;
    assert_eq!(
        reply.fields("set-cookie"),
        ["a=1; Path=/", &format!("b=2; {COOKIE}=3")]
    );
    assert_eq!(reply.field("affinity-pin"), None);
    assert!(!reply.text().contains(&stolen));
    let samples = site.admin().samples().await;
    assert_eq!(
        samples.sum("affinity_pins_planted_total", &[]),
        12.0,
        "two answers, six each"
    );
}

/// SEC-26: a sibling page that sets cookies without end shuts nobody out for longer than they last.
#[tokio::test]
async fn sec_26_too_many_cookies_are_refused_at_once_and_harm_nobody_else() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let big: String = (0..60)
        .map(|n| format!("big{n}={}; ", "v".repeat(4_080)))
        .collect();
    let one = format!("one={}; ", "v".repeat(100 << 10));
    for others in [big, one] {
        let begin = Instant::now();
        let reply = ask(site.address(), format!("{others}{COOKIE}={pin}")).await;
        // a connection that is reset under its request shows no answer
        assert!(matches!(reply.status(), 431 | 0), "{}", reply.text());
        assert!(begin.elapsed().as_secs() < 2, "{:?}", begin.elapsed());
    }
    let tiny: String = (0..2_000).map(|n| format!("t{n}=1; ")).collect();
    let reply = ask(site.address(), format!("{tiny}{COOKIE}={pin}")).await;
    assert_eq!(reply.status(), 200);
    assert_eq!(site.b.take().len(), 1, "found behind 2,000 others");
}

#[tokio::test]
async fn sec_27_ten_thousand_crumbs_reach_nobody() {
    let site = Site::start().await;
    let crumbs = (0..10_000).map(|n| format!("t{n}=1"));
    let request = Request::get("http://a/");
    let request = crumbs.fold(request, |all, crumb| all.header("cookie", crumb));
    let told = h2(
        site.address(),
        request.body(Full::<Bytes>::default()).unwrap(),
    )
    .await;
    let refused = told.map_or(true, |answer| answer.status() == 431);
    assert!(
        refused && site.a.take().is_empty(),
        "a list beyond the limit was served"
    );
    let request = Request::get("http://a/")
        .body(Full::<Bytes>::default())
        .unwrap();
    assert_eq!(h2(site.address(), request).await.unwrap().status(), 200);
}
