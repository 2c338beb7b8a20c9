//! The conditions under which an item is written.

use aws_sdk_dynamodb::types::AttributeValue;
use tower_affinity_core::{MAX_ROW, Terms};

use crate::item::{GROUP, Item, VERSION, number};

/// Whether an item counts: that of `is_current`, as far as DynamoDB can tell. A comparison with what
/// is missing or of another type is false.
const CURRENT: &str = "v = :version AND attribute_type(pin, :string) AND size(pin) <= :most \
                       AND exp > :now AND sst >= :oldest";

/// A condition and the values that it names.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) text: String,
    pub(crate) values: Item,
}

impl Condition {
    /// There is no item that counts. `refused` is the row of one that was read and does not, although
    /// its attributes look right.
    pub(crate) fn absent(terms: Terms, refused: Option<&str>) -> Self {
        let now = terms.now;
        // a session that began in this second or before is over, be its age no whole number of them
        let age = terms.lifetimes.max_age().as_nanos().div_ceil(1_000_000);
        let over = u128::from(now.as_millis()).checked_sub(age);
        let over = over.and_then(|over| u64::try_from(over / 1_000).ok());
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let mut condition = Self {
            text: format!("attribute_not_exists(k) OR NOT ({CURRENT})"),
            values: Item::new(),
        };
        condition.value(":version", AttributeValue::N(VERSION.to_owned()));
        condition.value(":string", text("S"));
        condition.value(":most", number(MAX_ROW as u64));
        condition.value(":now", number(now.as_secs()));
        let oldest = over.map_or(0, |over| over.saturating_add(1));
        condition.value(":oldest", number(oldest));
        if let Some(refused) = refused {
            condition.text += " OR pin = :refused";
            condition.value(":refused", text(refused));
        }
        condition
    }

    /// There is none, or one that the new item takes the place of: a lesser one of the same session,
    /// or an equal one of the same group. One that ends later does not count as lesser, since an
    /// expiry is never lowered.
    pub(crate) fn lesser(item: &Item, terms: Terms, refused: Option<&str>) -> Self {
        let mut condition = Self::absent(terms, refused);
        condition.text += " OR (sid = :session AND exp <= :expires \
                           AND (ord < :order OR (ord = :order AND grp = :group)))";
        for (value, name) in [
            (":session", "sid"),
            (":expires", "exp"),
            (":order", "ord"),
            (":group", GROUP),
        ] {
            // an item of ours has all of them
            if let Some(told) = item.get(name) {
                condition.value(value, told.clone());
            }
        }
        condition
    }

    fn value(&mut self, name: &str, value: AttributeValue) {
        self.values.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tower_affinity_core::{Lifetimes, Revision, SessionId, SessionPin, Timestamp, is_current};
    use tower_affinity_testing::{START, id};

    use super::*;

    /// The bounds say what the rule says, at every millisecond around an edge.
    #[test]
    fn bounds_are_those_of_the_rule() {
        let base = START * 1_000;
        for (idle, age) in [(1_800_000, 14_400_000), (1_001, 2_500), (30_000, 30_000)] {
            let (idle, age) = (Duration::from_millis(idle), Duration::from_millis(age));
            let lifetimes = Lifetimes::new(idle, age).unwrap();
            let began = Timestamp::from_millis(base);
            let session = SessionId::from_random(7);
            let mut pin = SessionPin::new(session, id("a"), Revision(1), began, lifetimes);
            let edges = [began.plus(age), pin.expires].map(Timestamp::as_millis);
            let around = edges
                .into_iter()
                .flat_map(|edge| edge - 1_100..edge + 1_100);
            for now in around {
                let now = Timestamp::from_millis(now);
                let terms = Terms { now, lifetimes };
                let condition = Condition::absent(terms, None);
                let bound = |name: &str| -> u64 {
                    let value = condition.values.get(name).unwrap();
                    value.as_n().unwrap().parse().unwrap()
                };
                for expires in [pin.expires, began.plus(age * 2)] {
                    pin.expires = expires;
                    let counts = pin.expires.as_secs() > bound(":now")
                        && pin.started.as_secs() >= bound(":oldest");
                    assert_eq!(counts, is_current(&pin, terms).is_ok(), "{now:?} {idle:?}");
                }
            }
        }
    }

    /// DynamoDB refuses a value that its expression does not name, and the other way round.
    #[test]
    fn a_condition_names_its_values_and_no_other() {
        let lifetimes = Lifetimes::default();
        let now = Timestamp::from_secs(START);
        let terms = Terms { now, lifetimes };
        let session = SessionId::from_random(7);
        let pin = SessionPin::new(session, id("a"), Revision(1), now, lifetimes);
        let codec = tower_affinity_core::RowCodec::new("checkout".parse().unwrap());
        let place = crate::item::Place::new("shop");
        let key = tower_affinity_core::RowKey::Session(session);
        let item = crate::item::wrap(&codec, &place, key, &pin).unwrap();
        for refused in [None, Some("{}")] {
            for condition in [
                Condition::absent(terms, refused),
                Condition::lesser(&item, terms, refused),
            ] {
                let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == ':' || c == '_';
                let words = condition.text.split(|c: char| !is_of_name(c));
                let mut named: Vec<_> = words.filter(|word| word.starts_with(':')).collect();
                named.sort_unstable();
                named.dedup();
                let mut held: Vec<_> = condition.values.keys().map(String::as_str).collect();
                held.sort_unstable();
                assert_eq!(named, held, "{}", condition.text);
            }
        }
    }
}
