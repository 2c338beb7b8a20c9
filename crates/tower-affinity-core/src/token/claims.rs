//! The claims of a pin as JSON: every required one typed, unknown ones kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::UnknownClaims;

/// The claims, borrowed from the token where they are text.
#[derive(Debug, Default)]
pub(super) struct Claims<'a> {
    pub(super) aud: Cow<'a, str>,
    pub(super) sid: Cow<'a, str>,
    pub(super) grp: Cow<'a, str>,
    pub(super) sst: u64,
    pub(super) iat: u64,
    pub(super) exp: u64,
    pub(super) rev: u64,
    pub(super) arv: u64,
    pub(super) mv: u32,
    pub(super) last: Option<Last<'a>>,
    pub(super) ep: Option<Cow<'a, str>>,
    pub(super) fx: bool,
    pub(super) rl: bool,
    /// 0 for none.
    pub(super) out: u16,
    pub(super) arm: Option<Cow<'a, str>>,
    /// Read and obeyed, never written by us.
    pub(super) nbf: Option<u64>,
    pub(super) unknown: UnknownClaims,
}

/// The last move: `mf`, `mt`, `mc`.
#[derive(Debug)]
pub(super) struct Last<'a> {
    pub(super) from: Cow<'a, str>,
    pub(super) at: u64,
    pub(super) cause: Cow<'a, str>,
}

impl Serialize for Claims<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("aud", &self.aud)?;
        map.serialize_entry("sid", &self.sid)?;
        map.serialize_entry("grp", &self.grp)?;
        map.serialize_entry("sst", &self.sst)?;
        map.serialize_entry("iat", &self.iat)?;
        map.serialize_entry("exp", &self.exp)?;
        map.serialize_entry("rev", &self.rev)?;
        map.serialize_entry("arv", &self.arv)?;
        map.serialize_entry("mv", &self.mv)?;
        if let Some(last) = &self.last {
            map.serialize_entry("mf", &last.from)?;
            map.serialize_entry("mt", &last.at)?;
            map.serialize_entry("mc", &last.cause)?;
        }
        if let Some(ep) = &self.ep {
            map.serialize_entry("ep", ep)?;
        }
        if self.fx {
            map.serialize_entry("fx", &true)?;
        }
        if self.rl {
            map.serialize_entry("rl", &true)?;
        }
        if self.out != 0 {
            map.serialize_entry("out", &self.out)?;
        }
        if let Some(arm) = &self.arm {
            map.serialize_entry("arm", arm)?;
        }
        if let Some(unknown) = &self.unknown.0 {
            for (name, value) in unknown.iter() {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Claims<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ClaimsVisitor)
    }
}

struct ClaimsVisitor;

/// A string that borrows from the input where it holds no escape.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// Takes a claim once; a second one of the same name makes the token ambiguous.
fn once<T, E: Error>(slot: &mut Option<T>, value: T, name: &'static str) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

impl<'de> Visitor<'de> for ClaimsVisitor {
    type Value = Claims<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the claims of a pin")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Claims<'de>, A::Error> {
        let (mut aud, mut sid, mut grp) = (None, None, None);
        let (mut sst, mut iat, mut exp, mut rev, mut arv) = (None, None, None, None, None);
        let (mut mv, mut mf, mut mt, mut mc) = (None, None, None, None);
        let (mut ep, mut fx, mut rl, mut out, mut nbf) = (None, None, None, None, None);
        let mut arm = None;
        let mut unknown: Option<Box<Map<String, Value>>> = None;
        while let Some(Text(name)) = map.next_key()? {
            match &*name {
                "aud" => once(&mut aud, map.next_value::<Text<'_>>()?.0, "aud")?,
                "sid" => once(&mut sid, map.next_value::<Text<'_>>()?.0, "sid")?,
                "grp" => once(&mut grp, map.next_value::<Text<'_>>()?.0, "grp")?,
                "sst" => once(&mut sst, map.next_value()?, "sst")?,
                "iat" => once(&mut iat, map.next_value()?, "iat")?,
                "exp" => once(&mut exp, map.next_value()?, "exp")?,
                "rev" => once(&mut rev, map.next_value()?, "rev")?,
                "arv" => once(&mut arv, map.next_value()?, "arv")?,
                "mv" => once(&mut mv, map.next_value()?, "mv")?,
                "mf" => once(&mut mf, map.next_value::<Text<'_>>()?.0, "mf")?,
                "mt" => once(&mut mt, map.next_value()?, "mt")?,
                "mc" => once(&mut mc, map.next_value::<Text<'_>>()?.0, "mc")?,
                "ep" => once(&mut ep, map.next_value::<Text<'_>>()?.0, "ep")?,
                "fx" => once(&mut fx, map.next_value()?, "fx")?,
                "rl" => once(&mut rl, map.next_value()?, "rl")?,
                "out" => once(&mut out, map.next_value()?, "out")?,
                "arm" => once(&mut arm, map.next_value::<Text<'_>>()?.0, "arm")?,
                "nbf" => once(&mut nbf, map.next_value()?, "nbf")?,
                // these bind a token to one moment or one reader, so they are not carried over
                "crit" | "jti" => drop(map.next_value::<IgnoredAny>()?),
                _ => {
                    let claims = unknown.get_or_insert_default();
                    if claims
                        .insert(name.into_owned(), map.next_value()?)
                        .is_some()
                    {
                        return Err(A::Error::custom("a claim is given twice"));
                    }
                }
            }
        }
        let missing = A::Error::missing_field;
        let last = match (mf, mt, mc) {
            (Some(from), Some(at), Some(cause)) => Some(Last { from, at, cause }),
            (None, None, None) => None,
            _ => return Err(A::Error::custom("mf, mt and mc go together")),
        };
        Ok(Claims {
            aud: aud.ok_or_else(|| missing("aud"))?,
            sid: sid.ok_or_else(|| missing("sid"))?,
            grp: grp.ok_or_else(|| missing("grp"))?,
            sst: sst.ok_or_else(|| missing("sst"))?,
            iat: iat.ok_or_else(|| missing("iat"))?,
            exp: exp.ok_or_else(|| missing("exp"))?,
            rev: rev.ok_or_else(|| missing("rev"))?,
            arv: arv.ok_or_else(|| missing("arv"))?,
            mv: mv.ok_or_else(|| missing("mv"))?,
            last,
            ep,
            fx: fx.unwrap_or(false),
            rl: rl.unwrap_or(false),
            out: out.unwrap_or(0),
            arm,
            nbf,
            unknown: UnknownClaims(unknown),
        })
    }
}
