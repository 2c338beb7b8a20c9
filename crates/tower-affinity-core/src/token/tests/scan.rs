//! Claims as we spell them, and in every other way: both readers say the same.

use proptest::prelude::*;

use super::super::claims::Claims;
use super::super::scan::scan;

/// As a pin has them, or as no pin does.
fn spelled() -> impl Strategy<Value = String> {
    let text = || prop_oneof![9 => "[A-Za-z0-9_-]{0,24}", 1 => "[ -~é\\n]{0,9}"];
    let number =
        || prop_oneof![8 => "[1-9][0-9]{0,12}", 1 => "[0-9]{18,21}", 1 => "0{0,2}[0-9.e-]{0,3}"];
    let one = |name: &'static str, value: BoxedStrategy<String>| {
        value
            .prop_map(move |value| format!(r#""{name}":{value}"#))
            .boxed()
    };
    let quoted = move || text().prop_map(|text| format!(r#""{text}""#)).boxed();
    let required = (
        [
            one("aud", quoted()),
            one("sid", quoted()),
            one("grp", quoted()),
        ],
        [("sst"), ("iat"), ("exp"), ("rev"), ("arv"), ("mv")]
            .map(|name| one(name, number().boxed())),
    );
    let optional = [
        one("mf", quoted()),
        one("mt", number().boxed()),
        one("mc", quoted()),
        one("ep", quoted()),
        one(
            "fx",
            prop_oneof![9 => Just("true".to_owned()), 1 => Just("false".to_owned())].boxed(),
        ),
        one("rl", Just("true".to_owned()).boxed()),
        one("out", "[0-9]{1,6}".boxed()),
        one("arm", quoted()),
        one("later", number().boxed()),
    ];
    let present = proptest::collection::vec(proptest::bool::weighted(0.3), optional.len());
    (required, optional, present).prop_map(|((texts, numbers), optional, mut present)| {
        // a move is whole, most of the time
        if present[0] || present[1] {
            present[..3].fill(true);
        }
        let optional = optional
            .into_iter()
            .zip(present)
            .filter_map(|(claim, is)| is.then_some(claim));
        let all: Vec<String> = texts.into_iter().chain(numbers).chain(optional).collect();
        format!("{{{}}}", all.join(","))
    })
}

fn agree(json: &[u8]) -> Result<bool, TestCaseError> {
    let Some(scanned) = scan(json) else {
        return Ok(false);
    };
    let parsed: Result<Claims<'_>, _> = serde_json::from_slice(json);
    let parsed = parsed.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(format!("{:?}", scanned), format!("{:?}", parsed));
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_is_scanned_is_what_json_says(
        json in spelled(),
        cut in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        how in 0_u8..6,
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
        (aud, sid, grp) in ("[a-z0-9-]{1,32}", "[A-Za-z0-9_-]{22}", "[A-Za-z0-9_-]{14}"),
        (sst, iat, exp) in (0_u64..1 << 40, 0_u64..1 << 40, 0_u64..1 << 40),
        (rev, arv, mv) in (0_u64..1 << 60, 0_u64..1 << 60, any::<u32>()),
        (fx, rl, out) in (any::<bool>(), any::<bool>(), any::<u16>()),
        ep in proptest::option::of("[A-Za-z0-9_-]{14}"),
        arm in proptest::option::of("[A-Za-z0-9_-]{6,20}~?"),
    ) {
        let claims = Claims {
            aud: aud.into(), sid: sid.into(), grp: grp.into(),
            sst, iat, exp, rev, arv, mv, fx, rl, out,
            ep: ep.map(Into::into),
            arm: arm.map(Into::into),
            ..Claims::default()
        };
        let json = serde_json::to_vec(&claims).unwrap();
        prop_assert!(agree(&json)?, "{} was read as JSON", String::from_utf8_lossy(&json));
    }
}
