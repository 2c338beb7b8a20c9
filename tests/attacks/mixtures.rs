//! Things that each are allowed, together.

use affinity_tests::config::COOKIE;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;
use tokio::task::JoinSet;

use super::support::{A, B, Forged, Site, ask, get, h2, start_text, talk};

#[tokio::test]
async fn a_header_pin_wins_over_a_cookie_if_it_is_valid() {
    let site = Site::start().await;
    let (to_b, to_a) = (site.pin_b().await, site.pin_a().await);
    let send = async |header: &str, cookie: &str| {
        let lines = format!("affinity-pin: {header}\r\ncookie: {COOKIE}={cookie}\r\n");
        let reply = talk(site.address(), get(lines)).await;
        assert_eq!(reply.status(), 200);
        let (a, b) = (site.a.take().len(), site.b.take().len());
        assert_eq!(a + b, 1);
        (if a == 1 { A } else { B }, reply)
    };
    assert_eq!(send(&to_b, &to_a).await.0, B, "though the cookie is newer");
    assert_eq!(send(&to_a, &to_b).await.0, A);
    for invalid in ["", "x", &format!("{to_a}x"), "  "] {
        let (group, reply) = send(invalid, &to_b).await;
        assert_eq!(group, B, "{invalid:?} falls through to the cookie");
        assert_eq!(
            reply.field("affinity-pin"),
            None,
            "the cookie is the carrier"
        );
    }
    site.pass(600);
    let (_, reply) = send(&to_b, &to_a).await;
    assert!(
        reply.field("affinity-pin").is_some() && reply.fields("set-cookie").is_empty(),
        "{}",
        reply.text()
    );
    let (_, reply) = send("x", &to_b).await;
    assert!(
        reply.field("affinity-pin").is_none() && reply.pin().is_some(),
        "{}",
        reply.text()
    );
    // neither is valid: who sends the header asks for the header
    let (_, reply) = send("x", "x").await;
    assert!(
        reply.field("affinity-pin").is_some() && reply.fields("set-cookie").is_empty(),
        "{}",
        reply.text()
    );
}

#[tokio::test]
async fn a_pin_in_odd_places_is_none_and_one_in_its_place_is_not_echoed() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    for head in [
        format!("GET /?affinity-pin={pin} HTTP/1.1\r\n"),
        format!("GET /{COOKIE}={pin} HTTP/1.1\r\n"),
        format!("GET / HTTP/1.1\r\naffinity_pin: {pin}\r\n"),
        format!("GET / HTTP/1.1\r\nx-affinity-pin: {pin}\r\n"),
        format!("GET / HTTP/1.1\r\nauthorization: Bearer {pin}\r\n"),
        format!("GET / HTTP/1.1\r\nset-cookie: {COOKIE}={pin}\r\n"),
        format!("GET / HTTP/1.1\r\ncookie2: {COOKIE}={pin}\r\n"),
        format!("GET / HTTP/1.1\r\naffinity-override: {pin}\r\n"),
        format!("GET / HTTP/1.1\r\naffinity-pin: \"{pin}\"\r\n"),
        format!("GET / HTTP/1.1\r\naffinity-pin: Bearer {pin}\r\n"),
        format!("GET / HTTP/1.1\r\naffinity-pin: x, {pin}\r\n"),
    ] {
        let reply = talk(
            site.address(),
            format!("{head}host: a\r\nconnection: close\r\n\r\n"),
        )
        .await;
        assert_eq!(reply.status(), 200, "{head}");
        assert!(site.b.take().is_empty(), "obeyed: {head}");
        assert_eq!(site.a.take().len(), 1);
        assert!(!reply.text().contains(&pin), "echoed: {}", reply.text());
    }
    let reply = talk(site.address(), get(format!("affinity-pin: {pin}\r\n"))).await;
    assert_eq!(
        site.b.take()[0].field("affinity-pin"),
        None,
        "a pin goes to no endpoint"
    );
    assert!(!reply.text().contains(&pin), "echoed: {}", reply.text());
    for method in ["OPTIONS", "HEAD", "DELETE", "PURGE"] {
        let request = get(format!("affinity-pin: {pin}\r\n"));
        let request = [method.as_bytes(), &request[3..]].concat();
        talk(site.address(), request).await;
        assert_eq!(
            site.b.take().len(),
            1,
            "{method} is served by its group as well"
        );
    }
}

#[tokio::test]
async fn pins_swapped_between_two_services_lead_nowhere() {
    let shop = Site::start().await;
    let text = shop
        .config
        .text()
        .replace("\"checkout\"", "\"billing\"")
        .replace("gateway-state", "billing-state");
    let billing = start_text(&shop.dir, &text, "billing.toml", &shop.clock).await;
    let theirs = talk(billing.address(), get("")).await;
    let line = theirs
        .field("set-cookie")
        .expect("a pin of the other service");
    let theirs = line.split(['=', ';']).nth(1).unwrap().to_owned();
    let ours = shop.pin_b().await;
    shop.a.take();
    let (here, there) = (Forged::of(&ours), Forged::of(&theirs));
    assert_ne!(
        here.claims["grp"], there.claims["grp"],
        "one name, two services, two codes"
    );
    // both jars at both doors, each pin under each name
    for (to, own) in [
        (shop.address(), COOKIE),
        (billing.address(), "__Host-affinity-billing"),
    ] {
        let (mine, foreign) = if own == COOKIE {
            (&ours, &theirs)
        } else {
            (&theirs, &ours)
        };
        ask(to, format!("{own}={foreign}; {own}={mine}")).await;
        let seen = [shop.a.take(), shop.b.take()].concat().remove(0);
        assert_eq!(seen.decision(), "pinned; cause=ok", "its own pin counts");
        // the group of the other service under this audience
        let mixed = Forged::of(mine).claim("grp", Forged::of(foreign).claims["grp"].clone());
        ask(to, format!("{own}={}", mixed.sign())).await;
        let seen = [shop.a.take(), shop.b.take()].concat().remove(0);
        assert_eq!(
            seen.decision(),
            "moved; cause=gone",
            "no code means a group of two services"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_first_requests_with_one_key_agree() {
    let scope = "[[scope]]\npath = \"/*\"\nassign = \"header:x-user\"\n";
    let site = Site::with(|config| config.sections = scope.to_owned()).await;
    site.weights(1, 1).await;
    for user in ["alice", "bob", "\u{e9}", "x, y", "1"] {
        let mut requests = JoinSet::new();
        let to = site.address();
        for _ in 0..100 {
            requests.spawn(async move { talk(to, get(format!("x-user: {user}\r\n"))).await });
        }
        let replies = requests.join_all().await;
        assert!(
            replies
                .iter()
                .all(|reply| reply.status() == 200 && reply.pin().is_some())
        );
        let (a, b) = (site.a.take().len(), site.b.take().len());
        assert_eq!(a + b, 100);
        assert!(a == 0 || b == 0, "{user} is in two groups: {a} and {b}");
    }
    // the key chooses only among what the weights allow
    site.weights(1, 0).await;
    for number in 0..50 {
        talk(site.address(), get(format!("x-user: {number}\r\n"))).await;
    }
    assert!(site.b.take().is_empty(), "a weight of 0 is exactly 0");
}

#[tokio::test]
async fn our_cookie_is_found_behind_60_kb_of_others() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let mut others: Vec<String> = (0..14)
        .map(|n| format!("bulk{n}={}", "v".repeat(4_080)))
        .collect();
    others.push(format!("tiny={}", "; t=1".repeat(400)));
    let others = others.join("; ");
    assert!(others.len() > 59_000, "{}", others.len());
    let reply = ask(site.address(), format!("{others}; {COOKIE}={pin}")).await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
    let seen = site.b.take();
    assert_eq!(seen.len(), 1, "found wherever it stands");
    assert_eq!(
        seen[0].fields("cookie"),
        [others.as_bytes()],
        "byte for byte"
    );
    let crumbs = others[..15_000]
        .split("; ")
        .map(str::to_owned)
        .chain([format!("{COOKIE}={pin}")]);
    let request = crumbs.fold(Request::get("http://a/"), |all, crumb| {
        all.header("cookie", crumb)
    });
    h2(
        site.address(),
        request.body(Full::<Bytes>::default()).unwrap(),
    )
    .await
    .expect("below the limit");
    assert_eq!(
        site.b.take()[0].fields("cookie"),
        [&others.as_bytes()[..15_000]]
    );
}

#[tokio::test]
async fn a_scope_is_not_left_by_another_spelling_of_its_path() {
    let scopes = "[[scope]]\npath = \"/static/*\"\naffinity = \"none\"\n[[scope]]\npath = \"/*\"\n";
    let site = Site::with(|config| config.sections = scopes.to_owned()).await;
    let pin = site.pin_b().await;
    for (path, group) in [
        ("/step", B),
        ("/static/app.js", A),
        ("/static", B),
        ("/Static/app.js", B),
        ("//static/app.js", B),
        ("/%73tatic/app.js", B),
        ("/account/x.css", B),
        ("/step?x=/static/", B),
    ] {
        let line = format!(
            "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncookie: {COOKIE}={pin}\r\n\r\n"
        );
        talk(site.address(), line).await;
        let (a, b) = (site.a.take(), site.b.take());
        assert_eq!(a.len() + b.len(), 1, "{path}");
        assert_eq!(if a.is_empty() { B } else { A }, group, "{path}");
        let seen = a.first().or(b.first()).unwrap();
        let target = String::from_utf8_lossy(&seen.head).into_owned();
        assert!(
            target.starts_with(&format!("GET {path} HTTP/1.1")),
            "passed on as it came: {target}"
        );
        assert!(
            seen.fields("cookie").is_empty(),
            "{path}: no scope shows the pin to the app"
        );
    }
    site.admin().verb(B, "abort", &json!({})).await.accepted();
    for path in ["/static/..%2fstep", "/static/../step"] {
        let line = format!(
            "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncookie: {COOKIE}={pin}\r\n\r\n"
        );
        talk(site.address(), line).await;
    }
    assert!(
        site.b.take().is_empty(),
        "no spelling leads to an aborted group"
    );
}
