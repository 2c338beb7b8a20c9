//! Headers that ask us to check less, or with something else.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::forge::{claims, forged, header, header_with, open, signed, token};
use crate::Fault;
use crate::fixtures::secret;

fn parts(token: &str) -> (String, String, String) {
    let parts: Vec<&str> = token.split('.').collect();
    (
        parts[0].to_owned(),
        parts[1].to_owned(),
        parts[2].to_owned(),
    )
}

#[test]
fn sec_13_without_an_algorithm_there_is_no_pin() {
    for none in ["none", "None", "NONE", "nOnE", ""] {
        let token = forged(&header_with("alg", json!(none)), &claims());
        let (head, payload, signature) = parts(&token);
        for text in [
            token,
            format!("{head}.{payload}."),
            format!("{head}.{payload}"),
            format!("{head}.{payload}.{signature}"),
        ] {
            let fault = open(&text).unwrap_err();
            assert!(
                matches!(fault, Fault::WrongType | Fault::Malformed),
                "{none:?}: {fault:?}"
            );
        }
    }
    let (head, payload, _) = parts(&token());
    assert_eq!(
        open(&format!("{head}.{payload}.")),
        Err(Fault::Malformed),
        "an empty signature"
    );
    assert_eq!(
        open(&format!("{head}.{payload}")),
        Err(Fault::Malformed),
        "a missing dot"
    );
}

#[test]
fn sec_14_the_algorithm_comes_from_the_key_and_never_from_the_token() {
    let claims = claims().to_string();
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let header = header_with("alg", json!(algorithm)).to_string();
        let token = signed(&header, &claims, &secret(1), algorithm);
        assert_eq!(
            open(&token),
            Err(Fault::BadSignature),
            "{algorithm:?} with our secret"
        );
    }
    for algorithm in ["RS256", "ES256", "PS256", "EdDSA", "HS384"] {
        let header = header_with("alg", json!(algorithm)).to_string();
        let token = signed(&header, &claims, &secret(1), Algorithm::HS256);
        assert_eq!(
            open(&token),
            Err(Fault::BadSignature),
            "{algorithm} over our signature"
        );
    }
    let pem = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\n\
               -----END PUBLIC KEY-----";
    for public in [
        pem.to_owned(),
        format!("{pem}\n"),
        json!({"kty": "OKP"}).to_string(),
    ] {
        let token = signed(
            &header().to_string(),
            &claims,
            public.as_bytes(),
            Algorithm::HS256,
        );
        assert_eq!(
            open(&token),
            Err(Fault::BadSignature),
            "a public key as the secret"
        );
    }
}

#[test]
fn sec_15_a_key_id_is_compared_and_nothing_else() {
    for kid in [
        "../../dev/null",
        "/etc/passwd",
        "' OR 1=1 --",
        "k1\u{0}",
        "k1 ",
        "K1",
        "\u{212a}1",
        "k\u{200b}1",
        "k2",
        "",
    ] {
        let token = forged(&header_with("kid", json!(kid)), &claims());
        assert_eq!(open(&token), Err(Fault::UnknownKey), "{kid:?}");
    }
    let long = forged(&header_with("kid", json!("k".repeat(64 << 10))), &claims());
    assert_eq!(open(&long), Err(Fault::Oversize));
    let mut without = header();
    without.as_object_mut().unwrap().remove("kid");
    assert_eq!(open(&forged(&without, &claims())), Err(Fault::UnknownKey));
    assert!(open(&forged(&header_with("kid", json!(1)), &claims())).is_err());
}

#[test]
fn sec_16_a_key_that_comes_with_the_token_is_ignored() {
    for (member, value) in [
        ("jku", json!("https://a.example/k")),
        ("x5u", json!("https://a.example/k")),
        ("jwk", json!({"kty": "oct", "k": "c2VjcmV0"})),
        ("x5c", json!(["MIIB"])),
    ] {
        let header = header_with(member, value).to_string();
        let theirs = signed(&header, &claims().to_string(), b"secret", Algorithm::HS256);
        assert_eq!(
            open(&theirs),
            Err(Fault::BadSignature),
            "{member} of a stranger"
        );
        let ours = signed(&header, &claims().to_string(), &secret(1), Algorithm::HS256);
        assert!(
            open(&ours).is_ok(),
            "{member} has no say in a token of ours"
        );
    }
}

#[test]
fn sec_18_headers_that_change_the_meaning_of_the_rest_are_refused() {
    for (member, value) in [
        ("crit", json!(["exp"])),
        ("crit", json!(["b64"])),
        ("crit", json!([])),
        ("zip", json!("DEF")),
        ("enc", json!("A128GCM")),
        ("b64", json!(false)),
        ("b64", json!("false")),
    ] {
        let token = forged(&header_with(member, value.clone()), &claims());
        assert_eq!(open(&token), Err(Fault::Malformed), "{member}: {value}");
    }
}

#[test]
fn sec_18_members_of_the_header_are_given_once() {
    for twice in [
        r#"{"typ":"affinity+jwt","alg":"HS256","kid":"k1","kid":"k1"}"#,
        r#"{"typ":"affinity+jwt","alg":"none","alg":"HS256","kid":"k1"}"#,
        r#"{"typ":"JWT","typ":"affinity+jwt","alg":"HS256","kid":"k1"}"#,
    ] {
        let token = signed(twice, &claims().to_string(), &secret(1), Algorithm::HS256);
        assert!(open(&token).is_err(), "{twice}");
    }
}

#[test]
fn sec_11_sec_19_a_token_of_another_kind_is_no_pin() {
    let mut untyped = header();
    untyped.as_object_mut().unwrap().remove("typ");
    for header in [
        header_with("typ", json!("JWT")),
        header_with("typ", json!("at+jwt")),
        header_with("typ", json!("affinity-override+jwt")),
        header_with("typ", json!("affinity2+jwt")),
        header_with("typ", json!("AFFINITY+JWT")),
        untyped,
    ] {
        assert_eq!(
            open(&forged(&header, &claims())),
            Err(Fault::WrongType),
            "{header}"
        );
    }
}

#[test]
fn a_header_in_another_order_is_read_as_well() {
    let other = r#"{ "kid" : "k1", "alg" : "HS256", "typ" : "affinity+jwt", "new": 1 }"#;
    let token = signed(other, &claims().to_string(), &secret(1), Algorithm::HS256);
    assert_eq!(open(&token).unwrap().key.as_str(), "k1");
}

#[test]
fn a_header_that_is_no_json_is_malformed_and_not_another_kind() {
    for header in ["", "{", "\u{0}\u{1}", "text", r#"{"alg":"HS256""#] {
        let token = signed(header, &claims().to_string(), &secret(1), Algorithm::HS256);
        let fault = open(&token).unwrap_err();
        assert_eq!(fault, Fault::Malformed, "{header:?}");
    }
    let deep = format!("{}{}", "[".repeat(150), "]".repeat(150));
    let token = signed(&deep, "{}", &secret(1), Algorithm::HS256);
    assert!(open(&token).is_err());
}

#[test]
fn a_jwe_is_no_pin() {
    let five = Value::from("a.b.c.d.e");
    assert_eq!(open(five.as_str().unwrap()), Err(Fault::Malformed));
}
