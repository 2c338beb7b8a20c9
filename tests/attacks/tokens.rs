//! Bytes that are no pin: forged, foreign, respelled, oversize, or naming an address.

use std::time::Duration;

use affinity_tests::config::COOKIE;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use tokio::time::Instant;
use tower_affinity::core::{Fault, Key, Keyring, Lifetimes, PinCodec, Timestamp};

use super::support::{
    A, B, Decoy, Forged, SECRET, Site, Talk, ask, get, now, signed, talk, unpadded,
};

#[tokio::test]
async fn sec_02_a_token_without_our_signature_chooses_nothing() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    let unsigned = to_b.sign_with(b"not the key, but as long as one is");
    let (message, _) = unsigned.rsplit_once('.').unwrap();
    for (token, cause) in [
        (unsigned.clone(), "bad_signature"),
        (format!("{message}."), "malformed"),
        (message.to_owned(), "malformed"),
        (format!("{message}.{}", unpadded([0; 32])), "bad_signature"),
        (to_b.clone().header("kid", "none").sign(), "unknown_key"),
        (B.to_owned(), "malformed"),
        (unpadded(B), "malformed"),
    ] {
        let before = site.rejected(cause).await;
        assert_eq!(site.refuses(&token).await, cause, "{token}");
        assert_eq!(
            site.rejected(cause).await,
            before + 1.0,
            "{token} is counted"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sec_02_forged_tokens_do_not_shift_the_weights() {
    const REQUESTS: u32 = 4_000;
    let site = Site::start().await;
    let forged = Forged::of(&site.pin_b().await).sign_with(b"not the key, but as long as one is");
    site.weights(9, 1).await;
    let mut talk = Talk::open(site.address()).await;
    let request = format!("GET / HTTP/1.1\r\nhost: a\r\ncookie: {COOKIE}={forged}\r\n\r\n");
    for _ in 0..REQUESTS {
        talk.write(&request).await;
        assert_eq!(talk.answer().await.status(), 200);
    }
    let (a, b) = (site.a.seen().len(), site.b.seen().len());
    assert_eq!(a + b, REQUESTS as usize);
    let share = b as f64 / f64::from(REQUESTS);
    let bound = 3.3 * (0.1 * 0.9 / f64::from(REQUESTS)).sqrt();
    assert!(
        (share - 0.1).abs() < bound,
        "{share} of the requests went to B"
    );
}

#[tokio::test]
async fn sec_03_a_pin_that_names_an_address_makes_nobody_dial_it() {
    let site = Site::start().await;
    let (v4, v6) = (Decoy::at("127.0.0.1").await, Decoy::at("::1").await);
    let v4_at = v4.address.to_string();
    let v6_at = v6.address.to_string();
    let octets = format!(
        "{}.{}.0000",
        u32::from_le_bytes([127, 0, 0, 1]),
        v4.address.port().swap_bytes()
    );
    let mut tokens = vec![
        v4_at.clone(),
        v6_at.clone(),
        format!("http://{v4_at}/"),
        octets,
        "unix:/run/docker.sock".to_owned(),
        "/run/docker.sock".to_owned(),
        format!("127.0.0.1:{}.a.b", v4.address.port()),
    ];
    for text in [&v4_at, &v6_at, "169.254.169.254:80"] {
        tokens.push(unpadded(text));
        tokens.push(signed(
            r#"{"alg":"none"}"#,
            &format!("{{\"addr\":\"{text}\"}}"),
            b"",
        ));
    }
    for token in &tokens {
        site.refuses(token).await;
    }
    // signed with the real key: the name of a group is still no address
    let to_b = Forged::of(&site.pin_b().await);
    for text in [&v4_at, &v6_at] {
        assert_eq!(
            site.refuses(&to_b.clone().claim("grp", text.as_str()).sign())
                .await,
            "malformed"
        );
        let extra = to_b.clone().claim("endpoint", text.as_str()).sign();
        assert_eq!(site.show(&extra).await.status(), 200);
        assert_eq!(
            site.b.take().len(),
            1,
            "a claim of a later release does not void a pin"
        );
    }
    // nor is anything else that a client can write
    for request in [
        format!("GET http://{v4_at}/ HTTP/1.1\r\nhost: {v4_at}\r\nconnection: close\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nhost: {v4_at}\r\nconnection: close\r\n\r\n"),
        format!("CONNECT {v4_at} HTTP/1.1\r\nhost: {v4_at}\r\nconnection: close\r\n\r\n"),
        String::from_utf8(get(format!(
            "affinity-group: {v4_at}\r\naffinity-endpoint: {v4_at}\r\naffinity-pin: {v4_at}\r\n\
             x-forwarded-host: {v4_at}\r\nforwarded: for=1.1.1.1;host={v4_at}\r\nx-original-url: http://{v4_at}/\r\n"
        )))
        .unwrap(),
    ] {
        let reply = talk(site.address(), &request).await;
        assert!(matches!(reply.status(), 200 | 405), "{request}: {}", reply.text());
    }
    assert_eq!(
        (v4.dialled().await, v6.dialled().await),
        (0, 0),
        "a decoy was dialled"
    );
}

#[tokio::test]
async fn sec_05_a_token_has_one_spelling() {
    let site = Site::start().await;
    let token = site.pin_b().await;
    assert_eq!(site.show(&token).await.status(), 200);
    assert_eq!(site.b.take().len(), 1, "the token itself counts");
    let parts: Vec<&str> = token.split('.').collect();
    let mut spellings = Vec::new();
    for at in 0..3 {
        let mut put = |text: String| {
            let mut changed: Vec<&str> = parts.clone();
            changed[at] = &text;
            spellings.push(changed.join("."));
        };
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(parts[at])
            .unwrap();
        put(format!("{}=", parts[at]));
        put(format!("{}==", parts[at]));
        for other in [
            STANDARD.encode(&bytes),
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE.encode(&bytes),
        ] {
            if other != parts[at] {
                put(other);
            }
        }
        // the bits that the last symbol has too many
        let last = parts[at].chars().last().unwrap();
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let code = alphabet.find(last).unwrap();
        for spare in 1..4 {
            let other = alphabet.as_bytes()[code ^ spare] as char;
            put(format!("{}{other}", &parts[at][..parts[at].len() - 1]));
        }
        let first = parts[at].as_bytes()[0];
        put(format!("%{first:02X}{}", &parts[at][1..]));
        put(format!("{} {}", &parts[at][..4], &parts[at][4..]));
        put(format!("{}\t", parts[at]));
        put(format!(" {}", parts[at]));
    }
    spellings.extend([
        format!("\"{token}\""),
        format!("'{token}'"),
        format!(" {token}"),
        format!("\t{token}"),
        format!("{token} "),
        format!("{token}."),
        format!(".{token}"),
        format!("{token}.x"),
        token.replace('.', "%2E"),
        token.replace('.', ".."),
        token.to_uppercase(),
        format!("{token},"),
        format!("Bearer {token}"),
    ]);
    for spelling in &spellings {
        // one more cookie behind, so that a space at the end is no end of the line
        let reply = ask(site.address(), format!("{COOKIE}={spelling}; z=1")).await;
        assert_eq!(reply.status(), 200, "{spelling:?}");
        assert!(site.b.take().is_empty(), "obeyed: {spelling:?}");
        let seen = site.a.take();
        assert!(
            seen[0].decision().starts_with("assigned; cause="),
            "{spelling:?}"
        );
    }
}

#[tokio::test]
async fn sec_10_an_oversize_token_is_cut_off_before_it_is_read() {
    let site = Site::start().await;
    let to_b = Forged::of(&site.pin_b().await);
    let padded = to_b.claim("pad", "x".repeat(600)).sign();
    assert_eq!(
        site.refuses(&padded).await,
        "oversize",
        "although it is signed with our key"
    );
    for long in [
        "a".repeat(8 << 10),
        ".".repeat(1_000),
        "a.b.c".repeat(2_000),
    ] {
        assert_eq!(site.refuses(&long).await, "oversize");
    }
    for long in [64 << 10, 1 << 20] {
        let reply = site.show(&"a".repeat(long)).await;
        assert!(matches!(reply.status(), 431 | 0), "{}", reply.text());
    }
    assert_eq!(
        site.a.take().len(),
        0,
        "a head beyond the limit reaches nobody"
    );
    let reply = talk(site.address(), get("")).await;
    assert_eq!(reply.status(), 200, "the next client is served");
}

#[test]
fn sec_10_the_length_of_an_oversize_token_costs_nothing() {
    let key = Key::hs256("k1".parse().unwrap(), SECRET).unwrap();
    let codec = PinCodec::new("checkout".parse().unwrap(), &Keyring::new([key]).unwrap());
    let long = vec![b'a'; 1 << 20];
    let begin = Instant::now();
    for _ in 0..100_000 {
        let opened = codec.open(&long, Timestamp::from_secs(now()), Lifetimes::default());
        assert_eq!(opened.unwrap_err(), Fault::Oversize);
    }
    // reading them would be 100 GB
    assert!(
        begin.elapsed() < Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test]
async fn sec_12_a_group_that_nobody_knows_gets_no_label() {
    let site = Site::start().await;
    let strange = unpadded([7; 10]);
    let to_nobody = Forged::of(&site.pin_b().await).claim("grp", strange.as_str());
    let reply = site.show(&to_nobody.sign()).await;
    assert_eq!(reply.status(), 200);
    let seen = site.a.take();
    assert_eq!(seen[0].decision(), "moved; cause=gone");
    assert!(site.b.take().is_empty());
    let moved = Forged::of(&reply.pin().expect("a moved pin is written"));
    assert_eq!(moved.claims["mv"], 1);
    let page = site.admin().get("/metrics").await.text();
    assert!(!page.contains(&strange), "a client named a label");
    let samples = site.admin().samples().await;
    let labels = [("from", "unknown"), ("to", A), ("cause", "gone")];
    assert_eq!(samples.sum("affinity_moves_total", &labels), 1.0, "{page}");
}
