//! Claims as we spell them, and in every other way: both readers say the same.

use proptest::prelude::*;

use super::super::claims::Claims;
use super::super::scan::{scan, start};
use super::super::verifier::pin;
use crate::ServiceName;

fn service() -> ServiceName {
    "checkout".parse().unwrap()
}

/// Base64url of so many bytes, most of the time.
fn coded(bytes: usize) -> BoxedStrategy<String> {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let right = proptest::collection::vec(any::<u8>(), bytes);
    let right = right.prop_map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
    prop_oneof![20 => right, 1 => "[A-Za-z0-9_-]{0,24}", 1 => "[ -~é\\n]{0,9}"].boxed()
}

/// As a pin has them, or as no pin does.
fn spelled() -> impl Strategy<Value = String> {
    let number = || {
        prop_oneof![20 => "[1-9][0-9]{0,12}", 1 => "[0-9]{18,21}", 1 => "0{0,2}[0-9.e-]{0,3}"]
            .boxed()
    };
    let one = |name: &'static str, value: BoxedStrategy<String>| {
        let claim = value.prop_map(move |value| format!(r#""{name}":{value}"#));
        claim.boxed()
    };
    let quoted = |text: BoxedStrategy<String>| text.prop_map(|text| format!(r#""{text}""#)).boxed();
    let audience = prop_oneof![20 => Just("checkout".to_owned()), 1 => "[a-z]{1,8}"].boxed();
    let cause =
        prop_oneof![5 => Just("aborted".to_owned()), 1 => "[a-z_]{0,18}", 1 => "[ -~]{0,9}"];
    let arms = prop_oneof![3 => coded(8), 1 => coded(4).prop_map(|text| text + "~"), 1 => coded(3)];
    let required = (
        [
            one("aud", quoted(audience)),
            one("sid", quoted(coded(16))),
            one("grp", quoted(coded(10))),
        ],
        ["sst", "iat", "exp", "rev", "arv", "mv"].map(|name| one(name, number())),
    );
    let yes = prop_oneof![9 => Just("true".to_owned()), 1 => Just("false".to_owned())];
    let optional = [
        one("mf", quoted(coded(10))),
        one("mt", number()),
        one("mc", quoted(cause.boxed())),
        one("ep", quoted(coded(10))),
        one("fx", yes.boxed()),
        one("rl", Just("true".to_owned()).boxed()),
        one("out", "[0-9]{1,6}".boxed()),
        one("arm", quoted(arms.boxed())),
        one("nbf", number()),
        one("later", number()),
    ];
    let present = proptest::collection::vec(proptest::bool::weighted(0.3), optional.len());
    (required, optional, present).prop_map(|((texts, numbers), optional, mut present)| {
        // a move is whole, most of the time
        if present[0] || present[1] {
            present[..3].fill(true);
        }
        let optional = optional.into_iter().zip(present);
        let optional = optional.filter_map(|(claim, is)| is.then_some(claim));
        let all: Vec<String> = texts.into_iter().chain(numbers).chain(optional).collect();
        format!("{{{}}}", all.join(","))
    })
}

/// Whether they are scanned; if so, JSON says the same.
fn agree(json: &[u8]) -> Result<bool, TestCaseError> {
    let service = service();
    let Some(scanned) = scan(json, start(&service).as_bytes()) else {
        return Ok(false);
    };
    let parsed: Result<Claims<'_>, _> = serde_json::from_slice(json);
    let parsed = parsed.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(&*parsed.aud, service.as_str());
    prop_assert_eq!(parsed.nbf, None);
    prop_assert_eq!(Ok(scanned), pin(parsed));
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_is_scanned_is_what_json_says(
        json in spelled(),
        cut in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        how in 0_u8..8,
    ) {
        let mut json = json.into_bytes();
        let at = cut.index(json.len());
        match how {
            0 => json[at] = byte,
            1 => json.insert(at, byte),
            2 => drop(json.remove(at)),
            3 => json.truncate(at),
            _ => {}
        }
        agree(&json)?;
    }

    #[test]
    fn what_we_write_is_scanned(
        (sid, grp) in (any::<u128>(), any::<[u8; 10]>()),
        (sst, iat, exp) in (0_u64..1 << 40, 0_u64..1 << 40, 0_u64..1 << 40),
        (rev, arv, mv) in (0_u64..1 << 60, 0_u64..1 << 60, any::<u32>()),
        (fx, rl, out) in (any::<bool>(), any::<bool>(), any::<u16>()),
        ep in proptest::option::of(any::<[u8; 10]>()),
        arm in proptest::option::of("[A-Za-z0-9_-]{8}~?"),
    ) {
        let claims = Claims {
            aud: "checkout".into(),
            sid: crate::SessionId::from_random(sid).to_string().into(),
            grp: crate::GroupCode::new(grp).encode().into(),
            sst, iat, exp, rev, arv, mv, fx, rl, out,
            ep: ep.map(|ep| crate::EndpointCode::new(ep).encode().into()),
            arm: arm.map(Into::into),
            ..Claims::default()
        };
        let json = serde_json::to_vec(&claims).unwrap();
        prop_assert!(agree(&json)?, "{} was read as JSON", String::from_utf8_lossy(&json));
    }
}
