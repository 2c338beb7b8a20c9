//! A row as it lies in Redis: a head that scripts compare, then the row's JSON.
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | the version of this form, `1` |
//! | 50 | [`RowCodec::rank`]; its last 20 are when the pin was issued |
//! | 20 | when the session began, in seconds |
//! | 20 | when the row ends, in seconds |
//! | 22 | the session |
//! | 4 | the length of the label |
//! | … | the label: `GROUP#GENERATION@ENDPOINT`, what the row is counted under |
//! | … | the JSON of [`RowCodec`] |
//!
//! The JSON is the row; the head only repeats it. A row whose head tells anything else is malformed.

use tower_affinity_core::{
    EndpointId, EndpointRef, GroupId, MAX_ROW, RowCodec, RowFault, RowKey, SessionPin, Terms,
};

/// The fixed part of the head.
const FIXED: usize = 117;

/// The longest label whose length can be told.
const LONGEST: usize = 9_999;

/// The most that is read of what lies at a key: more can be no row.
pub(crate) const READ: usize = 8_192;

/// A pin as a row; `None` if it is too long to be read again.
pub(crate) fn wrap(codec: &RowCodec, key: RowKey, pin: &SessionPin) -> Option<String> {
    let row = head(pin)? + &codec.encode(key, pin);
    (row.len() < READ && json(row.as_bytes())?.len() <= MAX_ROW).then_some(row)
}

/// Reads what lies at a key.
pub(crate) fn unwrap(
    codec: &RowCodec,
    key: RowKey,
    row: &[u8],
    terms: Terms,
) -> Result<SessionPin, RowFault> {
    if row.len() >= READ {
        return Err(RowFault::Oversize);
    }
    let version = row.first().ok_or(RowFault::Malformed)?;
    if version.is_ascii_digit() && *version != b'1' {
        return Err(RowFault::Version);
    }
    let json = json(row).ok_or(RowFault::Malformed)?;
    let pin = codec.decode(key, json, terms)?;
    match head(&pin) {
        Some(head) if head.len() + json.len() == row.len() && row.starts_with(head.as_bytes()) => {
            Ok(pin)
        }
        _ => Err(RowFault::Malformed),
    }
}

/// What a row is counted under, read back.
pub(crate) fn parse_label(label: &str) -> Option<(GroupId, Option<EndpointId>)> {
    let (group, endpoint) = label.split_once('@')?;
    let (name, generation) = group.split_once('#')?;
    let group = GroupId::new(name.parse().ok()?, generation.parse().ok()?);
    let endpoint = Some(endpoint).filter(|endpoint| !endpoint.is_empty());
    Some((group, endpoint.map(EndpointId::new)))
}

fn head(pin: &SessionPin) -> Option<String> {
    let group = pin.group.known()?;
    let endpoint = pin.endpoint.as_ref().and_then(EndpointRef::known);
    let endpoint = endpoint.map_or("", EndpointId::as_str);
    let label = format!("{group}@{endpoint}");
    if label.len() > LONGEST {
        return None;
    }
    let (rank, session) = (RowCodec::rank(pin), pin.session);
    let (started, expires) = (pin.started.as_secs(), pin.expires.as_secs());
    let length = label.len();
    Some(format!(
        "1{rank}{started:020}{expires:020}{session}{length:04}{label}"
    ))
}

fn json(row: &[u8]) -> Option<&[u8]> {
    let (head, rest) = row.split_at_checked(FIXED)?;
    let length = std::str::from_utf8(head.get(FIXED - 4..)?).ok()?;
    rest.get(length.parse().ok()?..)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::time::Duration;

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
        let now = terms().now;
        let pin = pin().moved(
            id("v1.2_x:y-z"),
            MoveCause::Aborted,
            Revision(12),
            now,
            Lifetimes::default(),
        );
        pin.at_endpoint(Some(EndpointId::new("http://[::1]:80/@#\"é")))
    }

    fn key(pin: &SessionPin) -> RowKey {
        RowKey::Session(pin.session)
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        for pin in [pin(), moved()] {
            let row = wrap(&codec(), key(&pin), &pin).unwrap();
            assert_eq!(
                &row[113..117],
                format!("{:04}", row[117..].find('{').unwrap())
            );
            let read = unwrap(&codec(), key(&pin), row.as_bytes(), terms());
            assert_eq!(read, Ok(pin));
        }
    }

    #[test]
    fn a_label_names_the_group_and_the_endpoint() {
        let row = wrap(&codec(), key(&moved()), &moved()).unwrap();
        let length: usize = row[113..117].parse().unwrap();
        let label = parse_label(&row[117..117 + length]);
        let endpoint = EndpointId::new("http://[::1]:80/@#\"é");
        assert_eq!(label, Some((id("v1.2_x:y-z"), Some(endpoint))));
        assert_eq!(parse_label("a#1@"), Some((id("a"), None)));
        for wrong in ["", "a", "a#1", "a@", "a#x@", "#1@", "a b#1@"] {
            assert_eq!(parse_label(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_head_that_lies_makes_no_row() {
        let row = wrap(&codec(), key(&pin()), &pin()).unwrap();
        let json = row.find('{').unwrap();
        for place in 0..json {
            let mut changed = row.clone().into_bytes();
            changed[place] ^= 1;
            let read = unwrap(&codec(), key(&pin()), &changed, terms());
            assert!(read.is_err(), "byte {place} of the head was not looked at");
        }
        for end in 0..row.len() {
            let cut = unwrap(&codec(), key(&pin()), &row.as_bytes()[..end], terms());
            assert_eq!(cut, Err(RowFault::Malformed), "cut at {end}");
        }
        let later = row.replacen('1', "2", 1);
        let read = unwrap(&codec(), key(&pin()), later.as_bytes(), terms());
        assert_eq!(read, Err(RowFault::Version));
    }

    #[test]
    fn what_is_too_long_to_be_read_again_is_not_written() {
        let endpoint = |length| {
            let endpoint = EndpointId::new(&"e".repeat(length));
            let pin = pin().at_endpoint(Some(endpoint));
            wrap(&codec(), key(&pin), &pin)
        };
        assert!(endpoint(1_024).is_some());
        assert!(endpoint(MAX_ROW).is_none());
        assert!(endpoint(20_000).is_none());
    }

    #[test]
    fn a_row_ends_when_it_says() {
        let row = wrap(&codec(), key(&pin()), &pin()).unwrap();
        let now = pin().expires.plus(Duration::from_secs(0));
        let read = unwrap(
            &codec(),
            key(&pin()),
            row.as_bytes(),
            Terms { now, ..terms() },
        );
        assert_eq!(read, Err(RowFault::Ended));
    }
}
