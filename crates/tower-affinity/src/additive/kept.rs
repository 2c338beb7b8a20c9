//! [`Kept`]: a value of any type that a format which describes itself can give.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// How deep values may be nested; each level is a call of a function.
pub(super) const DEPTH: usize = 32;

/// What a value takes beside its text.
pub(super) const EACH: usize = size_of::<(Kept, Kept)>();

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kept {
    Nothing,
    Bool(bool),
    I64(i64),
    U64(u64),
    I128(i128),
    U128(u128),
    F32(f32),
    F64(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    Seq(Vec<Self>),
    Map(Vec<(Self, Self)>),
}

/// Reads a value as long as there is room. Of what there is no room for, nothing is kept, but it is
/// read to its end: `None`.
pub(super) struct Keep<'a> {
    pub(super) left: &'a mut usize,
    pub(super) depth: usize,
}

impl Keep<'_> {
    /// Whether there is room for a value with so many bytes of text.
    fn fits(&mut self, text: usize) -> bool {
        let cost = text.saturating_add(EACH);
        let fits = cost <= *self.left;
        // where one thing did not fit, nothing that is smaller does
        *self.left = if fits { *self.left - cost } else { 0 };
        fits
    }

    fn inner(&mut self) -> Keep<'_> {
        Keep {
            left: self.left,
            depth: self.depth - 1,
        }
    }

    fn leaf<E>(mut self, kept: Kept) -> Result<Option<Kept>, E> {
        Ok(self.fits(0).then_some(kept))
    }
}

impl<'de> DeserializeSeed<'de> for Keep<'_> {
    type Value = Option<Kept>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<Kept>, D::Error> {
        if self.depth == 0 || *self.left == 0 {
            *self.left = 0;
            from.deserialize_ignored_any(IgnoredAny)?;
            return Ok(None);
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keep<'_> {
    type Value = Option<Kept>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        self.leaf(Kept::Nothing)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        self.leaf(Kept::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        self.deserialize(from)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        self.leaf(Kept::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        self.leaf(Kept::I64(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        self.leaf(Kept::U64(value))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Self::Value, E> {
        self.leaf(Kept::I128(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Self::Value, E> {
        self.leaf(Kept::U128(value))
    }

    fn visit_f32<E>(self, value: f32) -> Result<Self::Value, E> {
        self.leaf(Kept::F32(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        self.leaf(Kept::F64(value))
    }

    fn visit_str<E>(mut self, value: &str) -> Result<Self::Value, E> {
        Ok(self.fits(value.len()).then(|| Kept::Text(value.into())))
    }

    fn visit_bytes<E>(mut self, value: &[u8]) -> Result<Self::Value, E> {
        Ok(self.fits(value.len()).then(|| Kept::Bytes(value.into())))
    }

    /// A type of the format's own, which `serde` has no way to write again.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        *self.left = 0;
        from.deserialize_ignored_any(IgnoredAny)?;
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut fits = self.fits(0);
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(self.inner())? {
            fits &= item.is_some();
            items.extend(item);
        }
        Ok(fits.then_some(Kept::Seq(items)))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut fits = self.fits(0);
        let mut entries = Vec::new();
        while let Some(key) = from.next_key_seed(self.inner())? {
            let value = from.next_value_seed(self.inner())?;
            let entry = key.zip(value);
            fits &= entry.is_some();
            entries.extend(entry);
        }
        Ok(fits.then_some(Kept::Map(entries)))
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::I64(value) => to.serialize_i64(*value),
            Self::U64(value) => to.serialize_u64(*value),
            Self::I128(value) => to.serialize_i128(*value),
            Self::U128(value) => to.serialize_u128(*value),
            Self::F32(value) => to.serialize_f32(*value),
            Self::F64(value) => to.serialize_f64(*value),
            Self::Text(value) => to.serialize_str(value),
            Self::Bytes(value) => to.serialize_bytes(value),
            Self::Seq(items) => {
                let mut seq = to.serialize_seq(Some(items.len()))?;
                items
                    .iter()
                    .try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Map(entries) => {
                let mut map = to.serialize_map(Some(entries.len()))?;
                entries
                    .iter()
                    .try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}
