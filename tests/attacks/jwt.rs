//! Tokens that abuse what their format allows, signed with the real key where that is needed.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::support::{Decoy, Forged, SECRET, Site, now, signed, unpadded};

#[tokio::test]
async fn sec_13_no_algorithm_is_no_signature() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    for name in ["none", "None", "NONE", "nOnE", ""] {
        let forged = to_b.clone().header("alg", name);
        let message = format!(
            "{}.{}",
            unpadded(forged.header.to_string()),
            unpadded(forged.claims.to_string())
        );
        for token in [message.clone(), format!("{message}."), forged.sign()] {
            site.refuses(&token).await;
        }
    }
    let mut without = to_b.clone();
    without.header.as_object_mut().unwrap().remove("alg");
    site.refuses(&without.sign()).await;
}

#[tokio::test]
async fn sec_14_the_key_says_its_algorithm_and_public_text_is_no_key() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    for name in [
        "HS384", "HS512", "RS256", "ES256", "PS256", "EdDSA", "hs256", "HS256 ",
    ] {
        site.refuses(&to_b.clone().header("alg", name).sign()).await;
    }
    let pem = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----";
    let text = unpadded(SECRET);
    for secret in [
        pem.as_bytes(),
        format!("{pem}\n").as_bytes(),
        br#"{"kty":"EC","crv":"P-256"}"#,
        b"",
        &[0; 32],
        b"2026-11",
        b"checkout",
        // the key as it stands in its file is not the key
        text.as_bytes(),
        &SECRET[..31],
        &[SECRET, b"\n"].concat(),
    ] {
        let cause = site.refuses(&to_b.sign_with(secret)).await;
        assert_eq!(
            cause,
            "bad_signature",
            "{:?}",
            String::from_utf8_lossy(secret)
        );
    }
}

#[tokio::test]
async fn sec_15_a_key_id_is_looked_up_and_nothing_else() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    for kid in [
        "../../dev/null",
        "/dev/null",
        "key",
        "' OR 1=1 --",
        "2026-11\0",
        "2026\u{2010}11",
        "2026-11 ",
        "",
        "2026-1",
        "2026-111",
    ] {
        for secret in [SECRET, b""] {
            let token = to_b.clone().header("kid", kid).sign_with(secret);
            let cause = site.refuses(&token).await;
            assert!(
                ["unknown_key", "oversize"].contains(&&*cause),
                "{kid:?}: {cause}"
            );
        }
    }
    let long = to_b.clone().header("kid", "k".repeat(64 << 9)).sign();
    assert_eq!(site.refuses(&long).await, "oversize");
    for odd in [json!(null), json!(1), json!(["2026-11"]), json!({"a": 1})] {
        site.refuses(&to_b.clone().header("kid", odd).sign()).await;
    }
    let page = site.admin().get("/metrics").await.text();
    assert!(!page.contains("dev/null"), "a client named a label");
}

#[tokio::test]
async fn sec_16_a_header_brings_no_key() {
    let site = Site::start().await;
    let decoy = Decoy::at("127.0.0.1").await;
    let to_b = Forged::of(&site.pin_b().await);
    let url = format!("http://{}/keys", decoy.address);
    let theirs = b"a key that the attacker has made.";
    let jwk = json!({ "kty": "oct", "alg": "HS256", "k": unpadded(theirs) });
    for (name, value) in [
        ("jku", json!(url)),
        ("x5u", json!(url)),
        ("jwk", jwk),
        ("x5c", json!([unpadded(theirs)])),
        ("x5t", json!("x")),
    ] {
        let token = to_b.clone().header(name, value).sign_with(theirs);
        site.refuses(&token).await;
    }
    assert_eq!(decoy.dialled().await, 0, "a key was fetched");
}

#[tokio::test]
async fn sec_17_claims_are_there_and_of_their_type() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    site.show(&to_b.sign()).await;
    assert_eq!(site.b.take().len(), 1, "as it is, it counts");
    for name in ["exp", "iat", "sst", "grp", "sid", "aud", "rev", "arv", "mv"] {
        site.refuses(&to_b.clone().without(name).sign()).await;
        let odd = [
            json!(null),
            json!(true),
            json!({}),
            json!([]),
            json!(-1),
            json!(1.5),
        ];
        for value in odd {
            site.refuses(&to_b.clone().claim(name, value).sign()).await;
        }
    }
    for name in ["exp", "iat", "sst", "rev", "arv", "mv"] {
        for text in ["never", "4000000000", "1", ""] {
            site.refuses(&to_b.clone().claim(name, text).sign()).await;
        }
        // JSON that no value of the library would write
        for raw in [
            "1e400",
            "NaN",
            "Infinity",
            "1e3",
            "99999999999999999999999",
            "0x10",
            "01",
        ] {
            let claims = to_b.claims.to_string();
            let own = to_b.claims[name].to_string();
            let claims = claims.replace(&format!("\"{name}\":{own}"), &format!("\"{name}\":{raw}"));
            assert_ne!(claims, to_b.claims.to_string());
            site.refuses(&signed(&to_b.header.to_string(), &claims, SECRET))
                .await;
        }
    }
    for value in [
        json!({"checkout": 1}),
        json!(["checkout"]),
        json!("Checkout"),
        json!("checkout "),
    ] {
        site.refuses(&to_b.clone().claim("aud", value).sign()).await;
    }
    for (name, value, cause) in [
        ("exp", now(), "expired_idle"),
        ("exp", 0, "expired_idle"),
        ("sst", 0, "expired_max"),
        ("iat", now() + 301, "from_future"),
        ("sst", now() + 301, "from_future"),
        ("iat", u64::MAX, "from_future"),
        ("nbf", now() + 301, "from_future"),
    ] {
        let cause_told = site.refuses(&to_b.clone().claim(name, value).sign()).await;
        assert_eq!(cause_told, cause, "{name} = {value}");
    }
    site.refuses(&to_b.clone().claim("nbf", "4000000000").sign())
        .await;
}

#[tokio::test]
async fn sec_18_what_would_change_the_meaning_of_a_token_voids_it() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    let headers: [(&str, Value); 5] = [
        ("crit", json!(["exp"])),
        ("crit", json!([])),
        ("zip", json!("DEF")),
        ("b64", json!(false)),
        ("enc", json!("A128GCM")),
    ];
    for (name, value) in headers {
        site.refuses(&to_b.clone().header(name, value).sign()).await;
    }
    for kind in ["JWT", "affinity-override+jwt", "at+jwt", "AFFINITY+JWT", ""] {
        let cause = site.refuses(&to_b.clone().header("typ", kind).sign()).await;
        assert_eq!(cause, "wrong_type", "{kind:?}");
    }
    let (header, claims) = (to_b.header.to_string(), to_b.claims.to_string());
    let twice = |text: &str, member: &str| format!("{{{member},{}", &text[1..]);
    let later = |text: &str, member: &str| format!("{},{member}}}", &text[..text.len() - 1]);
    for token in [
        signed(&twice(&header, r#""alg":"none""#), &claims, SECRET),
        signed(&later(&header, r#""alg":"HS256""#), &claims, SECRET),
        signed(&later(&header, r#""kid":"2026-11""#), &claims, SECRET),
        signed(&twice(&claims, r#""exp":1"#), &claims, SECRET),
        signed(&header, &twice(&claims, r#""exp":4000000000"#), SECRET),
        signed(&header, &later(&claims, r#""exp":4000000000"#), SECRET),
        signed(&header, &later(&claims, r#""aud":"checkout""#), SECRET),
        signed(&header, &later(&claims, r#""nbf":"x""#), SECRET),
        signed(&header, &format!("{claims}x"), SECRET),
        signed(&header, &format!("[{claims}]"), SECRET),
        signed(
            &header,
            &format!("{}1{}", "[".repeat(100), "]".repeat(100)),
            SECRET,
        ),
        signed(
            &header,
            &later(
                &claims,
                &format!("\"x\":{}1{}", "[".repeat(200), "]".repeat(200)),
            ),
            SECRET,
        ),
        // a token within a token
        signed(&header, &format!("\"{}\"", to_b.sign()), SECRET),
        // five parts, as encrypted ones have
        format!("{}.a.b", to_b.sign()),
    ] {
        site.refuses(&token).await;
    }
}

#[tokio::test]
async fn sec_18_huge_or_deep_json_costs_no_more_than_its_length() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    let wide = format!("{{{}}}", vec!["\"a\":1"; 500].join(","));
    let begin = Instant::now();
    for text in [deep, wide] {
        for _ in 0..20 {
            let header = to_b.header.to_string();
            assert_eq!(
                site.refuses(&signed(&header, &text, SECRET)).await,
                "oversize"
            );
            assert_eq!(
                site.refuses(&signed(&text, &text, SECRET)).await,
                "oversize"
            );
        }
    }
    let each = begin.elapsed() / 80;
    assert!(each.as_millis() < 100, "{each:?} each");
}
