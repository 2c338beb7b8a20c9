//! Formats that describe themselves.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Additive, New, Old, new};

#[test]
fn message_pack_by_maps_carries_fields() {
    // written by a release that does not wrap it, by names
    for packed in [
        rmp_serde::to_vec_named(&new()).unwrap(),
        rmp_serde::to_vec(&Additive::new(new())).unwrap(),
    ] {
        let mut old: Additive<Old> = rmp_serde::from_slice(&packed).unwrap();
        assert_eq!(old.carried(), 2);
        old.step = 2;
        let packed = rmp_serde::to_vec(&old).unwrap();
        let read: New = rmp_serde::from_slice(&packed).unwrap();
        assert_eq!(read, New { step: 2, ..new() });
    }
}

#[test]
fn message_pack_by_position_is_an_error() {
    let packed = rmp_serde::to_vec(&new()).unwrap();
    assert!(rmp_serde::from_slice::<Additive<Old>>(&packed).is_err());
}

/// Values that JSON has not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Rich {
    step: u32,
    small: f32,
    wide: u64,
    low: i64,
    none: Option<u8>,
    flag: bool,
    #[serde(with = "bytes_of")]
    bytes: Vec<u8>,
    by_number: std::collections::BTreeMap<u8, (i8, String)>,
    address: IpAddr,
}

mod bytes_of {
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        from.deserialize_bytes(Bytes)
    }
}

fn rich() -> Rich {
    Rich {
        step: 1,
        small: 0.1,
        wide: u64::MAX,
        low: i64::MIN,
        none: None,
        flag: true,
        bytes: vec![0, 159, 255],
        by_number: [(7, (-1, "seven".to_owned()))].into(),
        address: [127, 0, 0, 1].into(),
    }
}

#[test]
fn every_kind_of_value_of_message_pack_is_carried_as_it_is() {
    let packed = rmp_serde::to_vec_named(&rich()).unwrap();
    let mut old: Additive<Old> = rmp_serde::from_slice(&packed).unwrap();
    assert_eq!((old.carried(), old.dropped()), (8, 0));
    old.step = 9;
    let read: Rich = rmp_serde::from_slice(&rmp_serde::to_vec(&old).unwrap()).unwrap();
    assert_eq!(read, Rich { step: 9, ..rich() });
}

#[test]
fn a_struct_s_own_fields_are_read_as_the_format_writes_them() {
    // an address is four bytes where no human reads it, and text where one does
    let packed = rmp_serde::to_vec(&Additive::new(rich())).unwrap();
    let read: Additive<Rich> = rmp_serde::from_slice(&packed).unwrap();
    assert_eq!(*read, rich());
    #[derive(Serialize, Deserialize)]
    struct Host {
        address: IpAddr,
    }
    let host = serde_json::from_str::<Additive<Host>>(r#"{"address":"::1"}"#).unwrap();
    assert_eq!(
        serde_json::to_string(&host).unwrap(),
        r#"{"address":"::1"}"#
    );
}

/// Remembers what the format says of itself.
struct Asks {
    for_humans: bool,
}

impl<'de> Deserialize<'de> for Asks {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let for_humans = from.is_human_readable();
        Old::deserialize(from)?;
        Ok(Self { for_humans })
    }
}

impl Serialize for Asks {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let step = u32::from(to.is_human_readable());
        let name = String::new();
        Old { step, name }.serialize(to)
    }
}

#[test]
fn a_struct_is_told_whether_humans_read_the_format() {
    let text = serde_json::to_string(&Additive::new(Asks { for_humans: true })).unwrap();
    assert_eq!(text, r#"{"step":1,"name":""}"#);
    let asks: Additive<Asks> = serde_json::from_str(&text).unwrap();
    assert!(asks.for_humans);
    let packed = rmp_serde::to_vec(&Additive::new(asks.into_inner())).unwrap();
    let old: Old = rmp_serde::from_slice(&packed).unwrap();
    assert_eq!(old.step, 0);
    let asks: Additive<Asks> = rmp_serde::from_slice(&packed).unwrap();
    assert!(!asks.for_humans);
}

#[test]
fn a_type_that_only_the_format_knows_is_dropped_and_no_error() {
    let mut packed = vec![0x82, 0xa4];
    packed.extend(b"time");
    // extension type -1 of four bytes: a time
    packed.extend([0xd6, 0xff, 1, 2, 3, 4, 0xa4]);
    packed.extend(b"step");
    packed.push(6);
    let old: Additive<Old> = rmp_serde::from_slice(&packed).unwrap();
    assert_eq!((old.step, old.carried(), old.dropped()), (6, 0, 1));
}
