//! Writing: `T`'s fields, then those that are carried.

use serde::ser::{Error, Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use super::Additive;
use super::carried::Carried;
use super::read::NO_STRUCT;

impl<T: Serialize> Serialize for Additive<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.known.serialize(Join {
            to,
            carried: &self.carried,
        })
    }
}

/// Writes a struct as a map, which has room for more.
struct Join<'a, S> {
    to: S,
    carried: &'a Carried,
}

/// A struct that is being written.
struct Fields<'a, M> {
    map: M,
    carried: &'a Carried,
    /// Names that are carried and that the struct has written: one that it writes but does not read.
    written: Vec<&'static str>,
}

impl<M: SerializeMap> SerializeStruct for Fields<'_, M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn serialize_field<V: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &V,
    ) -> Result<(), M::Error> {
        if self.carried.fields().any(|(carried, _)| carried == name) {
            self.written.push(name);
        }
        self.map.serialize_entry(name, value)
    }

    fn end(mut self) -> Result<M::Ok, M::Error> {
        for (name, kept) in self.carried.fields() {
            // what the struct says itself is newer
            if !self.written.contains(&name) {
                self.map.serialize_entry(name, kept)?;
            }
        }
        self.map.end()
    }
}

fn refuse<T, E: Error>() -> Result<T, E> {
    Err(E::custom(NO_STRUCT))
}

/// What is not a struct is refused.
macro_rules! refuse {
    ($($method:ident($($type:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $type),*) -> Result<$ok, S::Error> {
            refuse()
        })*
    };
}

impl<'a, S: Serializer> Serializer for Join<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeMap = Impossible<S::Ok, S::Error>;
    type SerializeStruct = Fields<'a, S::SerializeMap>;
    type SerializeStructVariant = Impossible<S::Ok, S::Error>;

    fn serialize_struct(
        self,
        _: &'static str,
        len: usize,
    ) -> Result<Fields<'a, S::SerializeMap>, S::Error> {
        // how many of those that are carried the struct writes itself is known only at its end
        let len = (self.carried.len() == 0).then_some(len);
        Ok(Fields {
            map: self.to.serialize_map(len)?,
            carried: self.carried,
            written: Vec::new(),
        })
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &V,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, _: &V) -> Result<S::Ok, S::Error> {
        refuse()
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &V,
    ) -> Result<S::Ok, S::Error> {
        refuse()
    }

    fn is_human_readable(&self) -> bool {
        self.to.is_human_readable()
    }

    refuse! {
        serialize_bool(bool) -> S::Ok;
        serialize_i8(i8) -> S::Ok;
        serialize_i16(i16) -> S::Ok;
        serialize_i32(i32) -> S::Ok;
        serialize_i64(i64) -> S::Ok;
        serialize_u8(u8) -> S::Ok;
        serialize_u16(u16) -> S::Ok;
        serialize_u32(u32) -> S::Ok;
        serialize_u64(u64) -> S::Ok;
        serialize_f32(f32) -> S::Ok;
        serialize_f64(f64) -> S::Ok;
        serialize_char(char) -> S::Ok;
        serialize_str(&str) -> S::Ok;
        serialize_bytes(&[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(&'static str) -> S::Ok;
        serialize_unit_variant(&'static str, u32, &'static str) -> S::Ok;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
