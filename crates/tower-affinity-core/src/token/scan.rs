//! Claims as we spell them, read without a parser of JSON.
//!
//! [`Claims`] writes its claims in one order and without white space, so that nearly every token that
//! is shown can be compared with what we would have written, from the left to the right. Whatever is
//! spelled in another way, as by another release, is read as JSON; a test holds one against the other.

use std::borrow::Cow;

use super::claims::{Claims, Last};

/// The claims, if they are spelled as this release spells them; `None` says nothing about them.
pub(super) fn scan(json: &[u8]) -> Option<Claims<'_>> {
    let mut rest = Rest(json);
    let mut claims = Claims {
        aud: rest.text(br#"{"aud":""#)?,
        sid: rest.text(br#","sid":""#)?,
        grp: rest.text(br#","grp":""#)?,
        sst: rest.number(br#","sst":"#)?,
        iat: rest.number(br#","iat":"#)?,
        exp: rest.number(br#","exp":"#)?,
        rev: rest.number(br#","rev":"#)?,
        arv: rest.number(br#","arv":"#)?,
        mv: rest.number(br#","mv":"#)?.try_into().ok()?,
        ..Claims::default()
    };
    if rest.begins(br#","mf":"#) {
        claims.last = Some(Last {
            from: rest.text(br#","mf":""#)?,
            at: rest.number(br#","mt":"#)?,
            cause: rest.text(br#","mc":""#)?,
        });
    }
    if rest.begins(br#","ep":"#) {
        claims.ep = Some(rest.text(br#","ep":""#)?);
    }
    claims.fx = rest.skip(br#","fx":true"#).is_some();
    claims.rl = rest.skip(br#","rl":true"#).is_some();
    if rest.begins(br#","out":"#) {
        claims.out = rest.number(br#","out":"#)?.try_into().ok()?;
    }
    if rest.begins(br#","arm":"#) {
        claims.arm = Some(rest.text(br#","arm":""#)?);
    }
    (rest.0 == b"}").then_some(claims)
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

    /// A text after `before`, which ends with its first quote; its last is taken as well.
    fn text(&mut self, before: &[u8]) -> Option<Cow<'a, str>> {
        self.skip(before)?;
        let end = self.0.iter().position(|byte| *byte == b'"')?;
        let (text, rest) = self.0.split_at_checked(end)?;
        // nothing is escaped that JSON would have to read in another way
        let plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'\\';
        if !text.iter().all(plain) {
            return None;
        }
        self.0 = rest.get(1..)?;
        std::str::from_utf8(text).ok().map(Cow::Borrowed)
    }

    /// A whole number after `before`.
    fn number(&mut self, before: &[u8]) -> Option<u64> {
        self.skip(before)?;
        let end = self.0.iter().position(|byte| !byte.is_ascii_digit())?;
        let (digits, rest) = self.0.split_at_checked(end)?;
        // 19 digits are within 64 bits, and JSON has no leading zero
        if digits.len() > 19 || (*digits.first()? == b'0' && digits.len() > 1) {
            return None;
        }
        self.0 = rest;
        let digits = digits.iter().map(|digit| u64::from(digit - b'0'));
        Some(digits.fold(0, |number, digit| number * 10 + digit))
    }
}
