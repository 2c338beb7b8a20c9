//! Genuine pins: what they give away, where they are worth nothing, and how long they are worth
//! anything.

use std::collections::BTreeSet;

use affinity_tests::config::COOKIE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::support::{A, B, Forged, Recorder, Site, Talk, ask, get, talk};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sec_01_a_pin_tells_nothing_of_the_inside() {
    const PINS: usize = 10_000;
    let site = Site::start().await;
    site.weights(1, 1).await;
    let mut talk = Talk::open(site.address()).await;
    let (mut groups, mut sessions) = (BTreeSet::new(), Vec::new());
    let names = [
        A,
        B,
        "127.0.0.1",
        "localhost",
        "7f000001",
        "2130706433",
        "16777343",
    ];
    for _ in 0..PINS {
        talk.write("GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n")
            .await;
        let reply = talk.answer().await;
        let pin = reply.pin().expect("a first answer sets a pin");
        let mut texts = vec![reply.text()];
        for part in pin.split('.') {
            let bytes = URL_SAFE_NO_PAD.decode(part).unwrap();
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        for name in names {
            let found = texts.iter().any(|text| text.contains(name));
            assert!(!found, "{name} in {texts:?}");
        }
        let claims = Forged::of(&pin).claims;
        let text = |name: &str| claims[name].as_str().unwrap().to_owned();
        groups.insert(text("grp"));
        sessions.push(URL_SAFE_NO_PAD.decode(text("sid")).unwrap());
    }
    assert_eq!(
        groups.len(),
        2,
        "one opaque name for each group: {groups:?}"
    );
    for opaque in sessions
        .iter()
        .cloned()
        .chain(groups.iter().map(|g| URL_SAFE_NO_PAD.decode(g).unwrap()))
    {
        for address in [[127, 0, 0, 1], [1, 0, 0, 127]] {
            assert!(
                !opaque.windows(4).any(|part| part == address),
                "{opaque:?} holds an address"
            );
        }
    }
    assert_eq!(
        sessions.iter().collect::<BTreeSet<_>>().len(),
        PINS,
        "ids repeat"
    );
    for at in 0..sessions[0].len() {
        let mut counts = [0_u32; 256];
        sessions
            .iter()
            .for_each(|id| counts[usize::from(id[at])] += 1);
        let expected = PINS as f64 / 256.0;
        let chi: f64 = counts
            .iter()
            .map(|n| (f64::from(*n) - expected).powi(2) / expected)
            .sum();
        // 255 degrees of freedom: mean 255, and beyond 400 once in some 10^8 runs
        assert!(
            (130.0..400.0).contains(&chi),
            "byte {at} of the ids is not random: {chi}"
        );
    }
}

#[tokio::test]
async fn sec_01_the_name_of_a_group_does_not_depend_on_where_it_runs() {
    let (one, other) = (Site::start().await, Site::start().await);
    let (here, there) = (one.pin_a().await, other.pin_a().await);
    let (here, there) = (Forged::of(&here).claims, Forged::of(&there).claims);
    assert_eq!(here["grp"], there["grp"], "ports differ, names do not");
    assert_ne!(here["sid"], there["sid"]);
}

#[tokio::test]
async fn sec_06_a_pin_of_another_service_is_none_here() {
    let shop = Site::start().await;
    let mut text = shop.config.text();
    text = text.replace("service = \"checkout\"", "service = \"billing\"");
    text = text.replace("gateway-state.json", "billing-state.json");
    let billing = super::support::start_text(&shop.dir, &text, "billing.toml", &shop.clock).await;
    let to_b = shop.pin_b().await;

    // under the other service's cookie name, and as a header
    for lines in [
        format!("cookie: __Host-affinity-billing={to_b}\r\n"),
        format!("affinity-pin: {to_b}\r\n"),
    ] {
        let reply = talk(billing.address(), get(&lines)).await;
        assert_eq!(reply.status(), 200);
        assert!(shop.b.take().is_empty(), "obeyed: {lines}");
        assert_eq!(
            shop.a.take()[0].decision(),
            "assigned; cause=wrong_audience",
            "{lines}"
        );
    }
    // under its own name it is somebody else's cookie, and untouched
    let line = format!("{COOKIE}={to_b}");
    ask(billing.address(), &line).await;
    let seen = shop.a.take();
    assert_eq!(seen[0].decision(), "assigned; cause=new");
    assert_eq!(seen[0].fields("cookie"), [line.as_bytes()]);
    // and there it is still worth something
    shop.show(&to_b).await;
    assert_eq!(shop.b.take().len(), 1);
}

#[tokio::test]
async fn sec_07_no_refresh_prolongs_a_session_beyond_its_age() {
    let edit = "idle_ttl = \"4m\"\nmax_age = \"20m\"\nlocal_idle_timeout = \"1m\"";
    let site = Site::with(|config| config.pin = edit.to_owned()).await;
    let mut pin = site.pin_b().await;
    let begin = Forged::of(&pin).claims["sst"].clone();
    let mut refreshed = 0;
    for minute in 1..20 {
        site.pass(60);
        if minute == 10 {
            // hoarded over a drain
            site.weights(1, 1).await;
            site.admin().verb(B, "drain", &json!({})).await.accepted();
        }
        let reply = site.show(&pin).await;
        assert_eq!(site.b.take().len(), 1, "minute {minute}: still served");
        if let Some(fresh) = reply.pin() {
            refreshed += 1;
            pin = fresh;
            assert_eq!(
                Forged::of(&pin).claims["sst"],
                begin,
                "a refresh made the session younger"
            );
        }
    }
    assert!(
        refreshed > 5,
        "only {refreshed} refreshes; nothing is shown"
    );
    site.pass(60);
    assert_eq!(site.refuses(&pin).await, "expired_max");
}

#[tokio::test]
async fn sec_07_a_hoarded_pin_leads_to_no_aborted_group() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    site.weights(1, 1).await;
    site.admin().verb(B, "abort", &json!({})).await.accepted();
    for _ in 0..50 {
        assert_eq!(site.show(&pin).await.status(), 200);
    }
    assert!(site.b.take().is_empty(), "an aborted group was served");
    for seen in site.a.take() {
        assert_eq!(seen.decision(), "moved; cause=aborted");
    }
    site.admin().verb(B, "restore", &json!({})).await.accepted();
    site.weights(0, 1).await;
    assert_eq!(site.show(&pin).await.status(), 200);
    assert_eq!(
        site.a.take().len(),
        1,
        "a restored group gets no old sessions back"
    );
}

#[tokio::test]
async fn sec_20_a_pin_leads_to_no_group_that_is_retired_or_gone() {
    let site = Site::start().await;
    let spare = Recorder::start().await;
    let body = json!({ "name": "debug", "endpoints": [spare.address.to_string()] });
    site.admin().post("/v1/groups", &body).await.accepted();
    let pin = site.pin_b().await;
    site.admin().verb(B, "drain", &json!({})).await.accepted();
    site.admin()
        .verb(B, "retire", &json!({ "force": true }))
        .await
        .accepted();
    site.show(&pin).await;
    assert_eq!(site.a.take()[0].decision(), "moved; cause=gone");
    assert!(site.b.take().is_empty());
    for name in ["debug", B, A, ""] {
        let forged = Forged::of(&pin).claim("grp", name).sign();
        site.refuses(&forged).await;
    }
    assert!(
        spare.seen().is_empty(),
        "a staged group was reached by its name"
    );
}
