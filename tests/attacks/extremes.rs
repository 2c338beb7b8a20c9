//! Claims at the edges of their types, signed with the real key: what a broken replica could write.

use affinity_tests::config::COOKIE;
use serde_json::{Value, json};

use super::support::{A, B, Forged, Site, get, now, talk};

#[tokio::test]
async fn sec_57_numbers_at_their_edges_break_nothing() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    for (name, value) in [
        ("exp", json!(u64::MAX)),
        ("exp", json!(i64::MAX)),
        ("exp", json!(253_402_300_800_u64)),
        ("exp", json!(4_294_967_296_u64)),
        ("iat", json!(0)),
        ("mv", json!(u32::MAX)),
        ("arv", json!(u64::MAX)),
        ("arv", json!(0)),
        ("rev", json!(0)),
    ] {
        let token = to_b.clone().claim(name, value.clone()).sign();
        let reply = site.show(&token).await;
        assert_eq!(reply.status(), 200, "{name} = {value}");
        assert_eq!(
            site.a.take().len() + site.b.take().len(),
            1,
            "{name} = {value}"
        );
        for line in reply.fields("set-cookie") {
            let age = line
                .split("Max-Age=")
                .nth(1)
                .and_then(|rest| rest.split(';').next());
            let age: u64 = age.expect("a pin has an age").parse().expect("of seconds");
            assert!(age <= 4 * 3600, "{name} = {value}: a cookie of {age} s");
        }
    }
}

#[tokio::test]
async fn a_session_that_moved_four_billion_times_moves_once_more() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await).claim("mv", u32::MAX).sign();
    site.weights(1, 1).await;
    site.admin().verb(B, "abort", &json!({})).await.accepted();
    let reply = site.show(&to_b).await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
    assert_eq!(site.a.take()[0].decision(), "moved; cause=aborted");
}

#[tokio::test]
async fn a_revision_at_the_end_of_its_range_stops_no_operator() {
    let site = Site::start().await;
    let genuine = Forged::of(&site.pin_b().await);
    for rev in [u64::MAX, u64::MAX - 1, i64::MAX as u64, now() << 10] {
        let token = genuine.clone().claim("rev", rev).sign();
        assert_eq!(site.refuses(&token).await, "from_future", "{rev}");
    }
    let far = now() + (1 << 32);
    site.show(&genuine.claim("rev", far).sign()).await;
    assert_eq!(
        site.admin().rollout().await["revision"],
        far,
        "raised by a pin"
    );
    let before = site.admin().rollout().await["revision"].as_u64().unwrap();
    site.weights(1, 1).await;
    let after = site.admin().verb(B, "abort", &json!({})).await.revision();
    assert!(
        after > before,
        "a change has a greater revision: {before}, {after}"
    );
    assert_eq!(talk(site.address(), get("")).await.status(), 200);
    assert!(site.admin().get("/v1/rollout").await.status.is_success());
}

#[tokio::test]
async fn a_last_move_that_makes_no_sense_is_told_to_nobody_or_as_it_is() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    let group: Value = to_b.claims["grp"].clone();
    for (from, at, cause) in [
        (group.clone(), json!(u64::MAX), json!("aborted")),
        (json!("AAAAAAAAAAAAAA"), json!(now()), json!("gone")),
        (group.clone(), json!(now()), json!("x\r\ny: z")),
        (group.clone(), json!(now()), json!("\u{1b}[2J")),
        (json!("x\r\ny: z"), json!(now()), json!("gone")),
        (json!(1), json!("x"), json!(null)),
    ] {
        let token = to_b
            .clone()
            .claim("mf", from)
            .claim("mt", at)
            .claim("mc", cause)
            .sign();
        assert_eq!(site.show(&token).await.status(), 200);
        let seen = [site.a.take(), site.b.take()].concat().remove(0);
        assert_eq!(seen.fault(), None, "{}", seen.shown());
        assert_eq!(seen.field("y"), None);
        if let Some(moved) = seen.field("affinity-moved-from") {
            let name = moved.split(';').next().unwrap_or_default();
            assert!([A, B, "unknown"].contains(&name), "{moved}");
        }
    }
}

#[tokio::test]
async fn unknown_claims_live_through_a_renewal_but_change_nothing_of_ours() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await)
        .claim("zz", json!({ "deep": [[[1, "\u{202e}", "\r\n"]]] }))
        .claim("EXP", 1)
        .claim("grp ", "x")
        .claim("crit", json!(["zz"]))
        .claim("jti", "1");
    site.pass(600);
    let reply = site.show(&to_b.sign()).await;
    assert_eq!(site.b.take().len(), 1);
    let renewed = Forged::of(&reply.pin().expect("a renewal is due")).claims;
    assert_eq!(renewed["zz"], to_b.claims["zz"]);
    for name in ["sid", "sst", "grp", "aud"] {
        assert_eq!(renewed[name], to_b.claims[name], "{name}");
    }
    assert!(
        renewed.get("crit").is_none() && renewed.get("jti").is_none(),
        "{renewed}"
    );
    let line = reply.field("set-cookie").unwrap();
    assert_eq!(line.matches(COOKIE).count(), 1);
    assert!(!line.contains('\u{202e}'));
}
