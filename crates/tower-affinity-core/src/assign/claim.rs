//! A claim of the application's own token as the key of a draw.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};

use super::{DrawKey, DrawSalt};

/// The longest `Authorization` whose claims are looked at: 16 KiB.
pub const MAX_BEARER: usize = 16 * 1024;

/// The longest value of a claim that can be a key, in bytes: 256. It names a user, not a text.
pub const MAX_CLAIM: usize = 256;

impl DrawSalt {
    /// The draw's key for the claim `name` of an `Authorization: Bearer` header that holds a JWT;
    /// `None` if it holds none.
    ///
    /// The claim is a member of the payload itself, and a text that is not empty, or a whole
    /// number. The token is **not verified**: a key is a preference, which decides where a session
    /// begins and nothing else, so a forged one gains what a forged header gains. Whatever is no
    /// such token, is longer than [`MAX_BEARER`], has the claim twice, or one longer than
    /// [`MAX_CLAIM`], gives no key.
    #[must_use]
    pub fn key_of_claim(&self, name: &str, authorization: &[u8]) -> Option<DrawKey> {
        let payload = payload(authorization)?;
        let mut json = serde_json::Deserializer::from_slice(&payload);
        let value = json.deserialize_map(Members(name)).ok()?;
        json.end().ok()?;
        // no name of a header has a space
        Some(self.key_of(&format!("claim {name}"), value?.as_bytes()))
    }
}

/// The second of three parts of a bearer token, decoded.
fn payload(authorization: &[u8]) -> Option<Vec<u8>> {
    if authorization.len() > MAX_BEARER {
        return None;
    }
    let (scheme, token) = authorization.split_at_checked(SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let mut parts = token.trim_ascii().split(|byte| *byte == b'.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    match parts.next() {
        Some(_) => None,
        None => URL_SAFE_NO_PAD.decode(payload).ok(),
    }
}

const SCHEME: &[u8] = b"bearer ";

/// Reads the one member with this name, and skips the others without keeping anything of them.
struct Members<'a>(&'a str);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<String>, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Named(self.0))? {
            match (is_it, &found) {
                (false, _) => drop(map.next_value::<IgnoredAny>()?),
                (true, Some(_)) => return Err(A::Error::custom("the claim is given twice")),
                (true, None) => found = Some(map.next_value_seed(Scalar)?),
            }
        }
        Ok(found)
    }
}

/// Whether a name is this one.
struct Named<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// A text that is neither empty nor long, or a whole number in decimal.
struct Scalar;

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Scalar {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a short text or a whole number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        match text.len() {
            1..=MAX_CLAIM => Ok(text.to_owned()),
            length => Err(E::invalid_length(length, &self)),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::fixtures::salt;

    fn bearer(payload: &str) -> String {
        format!("Bearer e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
    }

    fn key(payload: &str) -> Option<DrawKey> {
        salt().key_of_claim("sub", bearer(payload).as_bytes())
    }

    #[test]
    fn a_users_claim_is_the_key_whatever_else_the_token_holds() {
        let user = key(r#"{"sub":"u1"}"#).unwrap();
        for same in [
            r#"{"iat":1800000000,"sub":"u1","roles":["a",{"sub":"u2"}],"x":null}"#,
            r#" { "sub" : "\u00751" , "exp": 1.5e3 } "#,
        ] {
            assert_eq!(key(same), Some(user), "{same}");
        }
        assert_ne!(key(r#"{"sub":"u2"}"#), Some(user));
        assert_eq!(key(r#"{"sub":17}"#), key(r#"{"sub":"17"}"#));
        assert_eq!(key(r#"{"sub":-1}"#), key(r#"{"sub":"-1"}"#));
    }

    #[test]
    fn a_claim_is_no_header_and_no_other_claim_of_the_same_value() {
        let user = key(r#"{"sub":"u1"}"#);
        let other = salt().key_of_claim("uid", bearer(r#"{"uid":"u1"}"#).as_bytes());
        assert!(user.is_some() && other.is_some() && user != other);
        for source in ["", "sub", "cookie sub", "authorization"] {
            assert_ne!(user, Some(salt().key_of(source, b"u1")), "{source}");
        }
    }

    #[test]
    fn what_is_no_token_with_the_claim_gives_no_key() {
        for payload in [
            "",
            "{}",
            "[]",
            "null",
            r#""sub""#,
            r#"{"sub":""}"#,
            r#"{"sub":null}"#,
            r#"{"sub":true}"#,
            r#"{"sub":1.5}"#,
            r#"{"sub":["u1"]}"#,
            r#"{"sub":{"sub":"u1"}}"#,
            r#"{"SUB":"u1"}"#,
            r#"{"sub":"u1"#,
            r#"{"sub":"u1"} {"#,
            r#"{"sub":"u1","sub":"u1"}"#,
            r#"{"sub":"u1","x":[}"#,
        ] {
            assert_eq!(key(payload), None, "{payload}");
        }
        let good = bearer(r#"{"sub":"u1"}"#);
        let of = |text: &[u8]| salt().key_of_claim("sub", text);
        assert!(of(good.as_bytes()).is_some());
        assert_eq!(
            of(good.as_bytes()),
            of(good.replace("Bearer", "BEARER").as_bytes())
        );
        for bad in [
            good.replace("Bearer ", "Basic "),
            good.replace("Bearer ", "Bearer"),
            good.replace("Bearer ", ""),
            good.replace(".c2ln", ""),
            format!("{good}.x"),
            good.replace('.', ""),
            good.replace(".c2ln", "=.c2ln"),
            "Bearer ..".to_owned(),
            "Bearer e30.!!.x".to_owned(),
            "Bearer".to_owned(),
            String::new(),
        ] {
            assert_eq!(of(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(of(b"Bearer \xff.\xff.\xff"), None);
    }

    #[test]
    fn a_token_that_is_a_bomb_gives_no_key_and_costs_nothing() {
        let megabyte = "a".repeat(1024 * 1024);
        let long = format!(r#"{{"sub":"u1","x":"{megabyte}"}}"#);
        assert_eq!(key(&long), None, "1 MiB");
        let deep = format!(r#"{{"x":{}"#, "[".repeat(10_000));
        assert!(bearer(&deep).len() < MAX_BEARER, "it is looked at");
        assert_eq!(key(&deep), None, "ten thousand levels");
        let wide = format!(r#"{{{}"sub":"u1"}}"#, r#""a":1,"#.repeat(1_000));
        assert!(key(&wide).is_some(), "a thousand other claims are skipped");
        let text = |length| format!(r#"{{"sub":"{}"}}"#, "u".repeat(length));
        assert!(key(&text(MAX_CLAIM)).is_some());
        assert_eq!(key(&text(MAX_CLAIM + 1)), None);
        let padded = |length: usize| {
            let header = bearer(r#"{"sub":"u1"}"#);
            format!("{header}{}", "A".repeat(length - header.len()))
        };
        let of = |text: String| salt().key_of_claim("sub", text.as_bytes());
        assert!(of(padded(MAX_BEARER)).is_some());
        assert_eq!(of(padded(MAX_BEARER + 1)), None);
    }
}
