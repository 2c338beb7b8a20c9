//! Pins whose claims are spelled as we spell them, read without a parser of JSON.
//!
//! [`Claims`](super::claims::Claims) are written in one order and without white space, so that nearly
//! every token that is shown can be compared with what we would have written, from the left to the
//! right. Whatever is spelled in another way, as by another release, is read as JSON, which also tells
//! what is wrong with it; a test holds one against the other.

use crate::{
    ArmCodes, EndpointCode, EndpointRef, GroupCode, GroupRef, LastMove, Outcomes, Revision,
    ServiceName, SessionId, SessionPin, Timestamp, ToldCause, UnknownClaims, base64url,
};

/// What the claims of all pins of one service begin with.
pub(super) fn start(service: &ServiceName) -> String {
    format!(r#"{{"aud":"{service}","sid":""#)
}

/// The pin whose claims these are, if they are spelled as this release spells those of the service
/// with that [`start`]; `None` says nothing about them.
pub(super) fn scan(json: &[u8], start: &[u8]) -> Option<SessionPin> {
    let mut rest = Rest(json);
    rest.skip(start)?;
    let session = SessionId::from_random(u128::from_be_bytes(rest.bytes::<22, 16>()?));
    let group = rest.group(br#"","grp":""#)?;
    let started = rest.number(br#"","sst":"#)?;
    let issued = rest.number(br#","iat":"#)?;
    let expires = rest.number(br#","exp":"#)?;
    let revision = rest.number(br#","rev":"#)?;
    let assigned = rest.number(br#","arv":"#)?;
    let moves = rest.number(br#","mv":"#)?;
    let last_move = match rest.begins(br#","mf":"#) {
        true => Some(rest.last_move()?),
        false => None,
    };
    let endpoint = match rest.begins(br#","ep":"#) {
        true => Some(rest.endpoint()?),
        false => None,
    };
    Some(SessionPin {
        session,
        group,
        started: Timestamp::from_secs(started),
        issued: Timestamp::from_secs(issued),
        expires: Timestamp::from_secs(expires),
        revision: Revision(revision),
        assigned: Revision(assigned),
        moves: u32::try_from(moves).ok()?,
        last_move,
        endpoint,
        placed: rest.skip(br#","fx":true"#).is_some(),
        released: rest.skip(br#","rl":true"#).is_some(),
        outcomes: match rest.begins(br#","out":"#) {
            true => Outcomes::from_bits(rest.number(br#","out":"#)?.try_into().ok()?),
            false => Outcomes::default(),
        },
        arms: match rest.begins(br#","arm":"#) {
            true => rest.arms()?,
            false => ArmCodes::default(),
        },
        unknown: UnknownClaims::default(),
    })
    .filter(|_| rest.0 == b"}")
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn begins(&self, with: &[u8]) -> bool {
        self.0.starts_with(with)
    }

    fn skip(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// The bytes that the next symbols stand for.
    fn bytes<const SYMBOLS: usize, const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let (symbols, rest) = self.0.split_first_chunk::<SYMBOLS>()?;
        self.0 = rest;
        base64url::decode_exactly(symbols)
    }

    /// A group's code after `before`; its last quote is left.
    fn group(&mut self, before: &[u8]) -> Option<GroupRef> {
        self.skip(before)?;
        let code = GroupCode::new(self.bytes::<14, 10>()?);
        Some(GroupRef::Unknown(code))
    }

    fn last_move(&mut self) -> Option<LastMove> {
        let from = self.group(br#","mf":""#)?;
        let at = Timestamp::from_secs(self.number(br#"","mt":"#)?);
        let cause = ToldCause::parse(self.text(br#","mc":""#)?)?;
        Some(LastMove { from, at, cause })
    }

    fn endpoint(&mut self) -> Option<EndpointRef> {
        self.skip(br#","ep":""#)?;
        let code = EndpointCode::new(self.bytes::<14, 10>()?);
        self.skip(b"\"")?;
        Some(EndpointRef::Unknown(code))
    }

    fn arms(&mut self) -> Option<ArmCodes> {
        Some(ArmCodes::decode(self.text(br#","arm":""#)?))
    }

    /// A text after `before`, in which nothing is escaped; its last quote is taken as well.
    fn text(&mut self, before: &[u8]) -> Option<&'a str> {
        self.skip(before)?;
        let end = self.0.iter().position(|byte| *byte == b'"')?;
        let (text, rest) = self.0.split_at_checked(end)?;
        let plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'\\';
        if !text.iter().all(plain) {
            return None;
        }
        self.0 = rest.get(1..)?;
        std::str::from_utf8(text).ok()
    }

    /// A whole number after `before`.
    fn number(&mut self, before: &[u8]) -> Option<u64> {
        self.skip(before)?;
        let all = self.0;
        let (mut number, mut rest) = (0_u64, all);
        while let [digit @ b'0'..=b'9', after @ ..] = rest {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
            rest = after;
        }
        self.0 = rest;
        // 19 digits are within 64 bits, and JSON has no leading zero
        match (all.len() - rest.len(), all.first()) {
            (1, _) => Some(number),
            (2..=19, Some(first)) if *first != b'0' => Some(number),
            _ => None,
        }
    }
}
