//! A pin as an item of the table: the row's JSON, and the attributes that conditions compare.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use tower_affinity_core::{
    EndpointId, EndpointRef, GroupId, MAX_ROW, RowCodec, RowFault, RowKey, SessionPin, Terms,
};

/// An item, by the names of its attributes.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The partition key.
pub(crate) const KEY: &str = "k";
/// The attribute of the row.
pub(crate) const PIN: &str = "pin";
/// The attribute of the group, for counts.
pub(crate) const GROUP: &str = "grp";
/// The attribute of the endpoint, for counts.
pub(crate) const ENDPOINT: &str = "ep";

/// The version of this form.
pub(crate) const VERSION: &str = "1";

/// All attributes that are read.
pub(crate) const READ: &str = "v, pin, ord, sid, grp, ep, sst, exp";

/// How long an item is kept after its end, in seconds, since the clocks of replicas differ.
const KEPT: u64 = 10 * 60;

/// The names under one prefix.
#[derive(Clone, Debug)]
pub(crate) struct Place(String);

impl Place {
    pub(crate) fn new(prefix: &str) -> Self {
        Self(format!("{prefix}:"))
    }

    /// What the keys of this place begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.0
    }

    /// How long the keys of this place are: a kind, a colon and 32 digits.
    pub(crate) fn key_length(&self) -> usize {
        self.0.len() + 34
    }

    pub(crate) fn key(&self, key: RowKey) -> AttributeValue {
        AttributeValue::S(format!("{}{key}", self.0))
    }
}

/// A pin as an item; `None` if it names no group or is too long to be read again.
pub(crate) fn wrap(codec: &RowCodec, place: &Place, key: RowKey, pin: &SessionPin) -> Option<Item> {
    let mut item = head(pin)?;
    let row = codec.encode(key, pin);
    if row.len() > MAX_ROW {
        return None;
    }
    item.insert(KEY.to_owned(), place.key(key));
    item.insert(PIN.to_owned(), AttributeValue::S(row));
    let gone = pin.expires.as_secs().saturating_add(KEPT);
    item.insert("ttl".to_owned(), number(gone));
    Some(item)
}

/// Reads what lies at a key.
pub(crate) fn unwrap(
    codec: &RowCodec,
    key: RowKey,
    item: &Item,
    terms: Terms,
) -> Result<SessionPin, RowFault> {
    match item.get("v") {
        Some(AttributeValue::N(version)) if version == VERSION => {}
        Some(AttributeValue::N(_)) => return Err(RowFault::Version),
        _ => return Err(RowFault::Malformed),
    }
    let row = row(item).ok_or(RowFault::Malformed)?;
    let pin = codec.decode(key, row.as_bytes(), terms)?;
    let head = head(&pin).ok_or(RowFault::Malformed)?;
    let is_told = head
        .iter()
        .all(|(name, value)| item.get(name) == Some(value))
        && item.contains_key(ENDPOINT) == head.contains_key(ENDPOINT);
    is_told.then_some(pin).ok_or(RowFault::Malformed)
}

/// The text of the row, if there is one.
pub(crate) fn row(item: &Item) -> Option<&str> {
    item.get(PIN)?.as_s().ok().map(String::as_str)
}

/// Whose live session an item is, if its attributes name a group.
pub(crate) fn label(item: &Item) -> Option<(GroupId, Option<EndpointId>)> {
    let (name, generation) = item.get(GROUP)?.as_s().ok()?.split_once('#')?;
    let group = GroupId::new(name.parse().ok()?, generation.parse().ok()?);
    let endpoint = item.get(ENDPOINT).and_then(|endpoint| endpoint.as_s().ok());
    Some((group, endpoint.map(|endpoint| EndpointId::new(endpoint))))
}

/// What is repeated beside the row.
fn head(pin: &SessionPin) -> Option<Item> {
    let text = |text: String| AttributeValue::S(text);
    let mut head = Item::from(
        [
            ("v", AttributeValue::N(VERSION.to_owned())),
            ("ord", text(RowCodec::rank(pin))),
            ("sid", text(pin.session.to_string())),
            (GROUP, text(pin.group.known()?.to_string())),
            ("sst", number(pin.started.as_secs())),
            ("exp", number(pin.expires.as_secs())),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(endpoint) = pin.endpoint.as_ref().and_then(EndpointRef::known) {
        head.insert(ENDPOINT.to_owned(), text(endpoint.as_str().to_owned()));
    }
    Some(head)
}

pub(crate) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tower_affinity_core::{Lifetimes, MoveCause, Revision, ServiceName, SessionId, Timestamp};
    use tower_affinity_testing::{START, id};

    use super::*;

    fn codec() -> RowCodec {
        RowCodec::new("checkout".parse::<ServiceName>().unwrap())
    }

    fn terms() -> Terms {
        Terms {
            now: Timestamp::from_secs(START + 60),
            lifetimes: Lifetimes::default(),
        }
    }

    fn pin() -> SessionPin {
        let (session, lifetimes) = (SessionId::from_random(u128::MAX / 3), Lifetimes::default());
        let now = Timestamp::from_secs(START);
        SessionPin::new(session, id("a"), Revision(10), now, lifetimes)
    }

    fn moved() -> SessionPin {
        let (now, lifetimes) = (terms().now, Lifetimes::default());
        let to = id("v1.2_x:y-z");
        let pin = pin().moved(to, MoveCause::Aborted, Revision(12), now, lifetimes);
        pin.at_endpoint(Some(EndpointId::new("http://[::1]:80/@#\"é")))
    }

    fn item(pin: &SessionPin) -> Item {
        wrap(&codec(), &Place::new("shop"), key(pin), pin).unwrap()
    }

    fn key(pin: &SessionPin) -> RowKey {
        RowKey::Session(pin.session)
    }

    fn read(item: &Item) -> Result<SessionPin, RowFault> {
        unwrap(&codec(), key(&pin()), item, terms())
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        for pin in [pin(), moved()] {
            assert_eq!(read(&item(&pin)), Ok(pin));
        }
    }

    #[test]
    fn a_label_names_the_group_and_the_endpoint() {
        let endpoint = EndpointId::new("http://[::1]:80/@#\"é");
        let labelled = label(&item(&moved()));
        assert_eq!(labelled, Some((id("v1.2_x:y-z"), Some(endpoint))));
        assert_eq!(label(&item(&pin())), Some((id("a"), None)));
        for wrong in ["", "a", "a#", "a#x", "#1", "a b#1"] {
            let mut item = item(&pin());
            item.insert(GROUP.to_owned(), AttributeValue::S(wrong.to_owned()));
            assert_eq!(label(&item), None, "{wrong}");
        }
    }

    #[test]
    fn an_attribute_that_lies_or_is_missing_makes_no_row() {
        let whole = item(&moved());
        for name in READ.split(", ") {
            let mut without = whole.clone();
            without.remove(name).unwrap();
            assert_eq!(read(&without), Err(RowFault::Malformed), "without {name}");
            for wrong in [
                AttributeValue::S("x".to_owned()),
                AttributeValue::Null(true),
                AttributeValue::L(Vec::new()),
                AttributeValue::S("9".repeat(100_000)),
            ] {
                let mut lying = whole.clone();
                lying.insert(name.to_owned(), wrong.clone());
                assert!(read(&lying).is_err(), "{name} was not looked at");
            }
        }
        let mut bound = item(&pin());
        bound.insert(ENDPOINT.to_owned(), AttributeValue::S("x".to_owned()));
        assert_eq!(read(&bound), Err(RowFault::Malformed), "an endpoint more");
        let mut later = whole;
        later.insert("v".to_owned(), number(2));
        assert_eq!(read(&later), Err(RowFault::Version));
    }

    #[test]
    fn a_row_that_is_cut_anywhere_makes_no_row() {
        let row = codec().encode(key(&moved()), &moved());
        for end in (0..row.len()).filter(|&end| row.is_char_boundary(end)) {
            let mut cut = item(&moved());
            let (kept, _) = row.split_at(end);
            cut.insert(PIN.to_owned(), AttributeValue::S(kept.to_owned()));
            assert_eq!(read(&cut), Err(RowFault::Malformed), "cut at {end}");
        }
    }

    #[test]
    fn what_is_too_long_to_be_read_again_is_not_written() {
        let endpoint = |length| {
            let endpoint = EndpointId::new(&"e".repeat(length));
            let pin = pin().at_endpoint(Some(endpoint));
            wrap(&codec(), &Place::new("shop"), key(&pin), &pin)
        };
        assert!(endpoint(1_024).is_some());
        assert!(endpoint(MAX_ROW).is_none());
    }

    #[test]
    fn an_ordinary_item_costs_one_write_unit() {
        let pin = moved().at_endpoint(Some(EndpointId::new("http://10.12.114.215:8080")));
        let item = item(&pin);
        let size = |value: &AttributeValue| match value {
            AttributeValue::S(text) => text.len(),
            // a byte for two digits, and one more
            AttributeValue::N(number) => number.len().div_ceil(2) + 1,
            _ => unreachable!("an item of ours has neither"),
        };
        let size: usize = item
            .iter()
            .map(|(name, value)| name.len() + size(value))
            .sum();
        assert!(size <= 1_024, "{size} bytes");
    }
}
