//! Reading: the fields that `T` names go to `T`, all others are carried.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::Additive;
use super::carried::Carried;
use super::kept::{DEPTH, EACH, Keep};

pub(super) const NO_STRUCT: &str =
    "Additive holds a struct with named fields, none of which is flattened";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Additive<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut carried = Carried::default();
        let known = T::deserialize(Split {
            from,
            carried: &mut carried,
        })?;
        carried.settle();
        Ok(Self { known, carried })
    }
}

/// Gives a struct the fields that it names.
struct Split<'a, D> {
    from: D,
    carried: &'a mut Carried,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Split<'_, D> {
    type Error = D::Error;

    // a map and not a struct: formats may look for the named fields only
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.from.deserialize_map(Fields {
            names,
            inner: visitor,
            carried: self.carried,
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, D::Error> {
        Err(D::Error::custom(NO_STRUCT))
    }

    fn is_human_readable(&self) -> bool {
        self.from.is_human_readable()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The visitor of a struct, and then the fields that it is shown.
struct Fields<'a, I> {
    names: &'static [&'static str],
    inner: I,
    carried: &'a mut Carried,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Fields<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Fields {
            names: self.names,
            inner: map,
            carried: self.carried,
        })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        loop {
            let name = Name {
                names: self.names,
                left: self.carried.left(),
            };
            let name = match self.inner.next_key_seed(name)? {
                None => return Ok(None),
                Some(Named::Known(name)) => {
                    return seed
                        .deserialize(BorrowedStrDeserializer::new(name))
                        .map(Some);
                }
                Some(Named::Unknown(name)) => Some(name),
                Some(Named::NoRoom) => None,
            };
            let left = self.carried.left();
            let kept = self.inner.next_value_seed(Keep { left, depth: DEPTH })?;
            self.carried.take(name, kept);
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(seed)
    }
}

/// Reads the name of a field.
struct Name<'a> {
    names: &'static [&'static str],
    left: &'a mut usize,
}

enum Named {
    Known(&'static str),
    Unknown(String),
    NoRoom,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Named;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Named, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Name<'_> {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Named, E> {
        if let Some(known) = self.names.iter().find(|known| **known == name) {
            return Ok(Named::Known(known));
        }
        let cost = name.len().saturating_add(EACH);
        if cost > *self.left {
            *self.left = 0;
            return Ok(Named::NoRoom);
        }
        *self.left -= cost;
        Ok(Named::Unknown(name.to_owned()))
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Named, E> {
        match std::str::from_utf8(name) {
            Ok(name) => self.visit_str(name),
            Err(_) => Err(E::custom("the name of a field is no text")),
        }
    }
}
