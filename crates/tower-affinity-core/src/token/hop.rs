//! Hop marks: what one process of a service has decided, for the peer that it takes the request to.
//! No mark is a pin.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::claims::Claims;
use super::verifier::pin;
use super::{Key, KeyKind, PinCodec};
use crate::pin::SKEW;
use crate::{Cause, Cohort, Decision, Fault, GroupId, GroupRef, Kind, Timestamp};

/// How long a mark is good for: one minute. Clocks of peers differ by at most five minutes, so it is
/// taken until six minutes after it was made, and not if it seems to be made in more than five.
pub const HOP_LIFE: Duration = Duration::from_secs(60);

/// The greatest length of a mark in bytes; a longer one is not looked at.
pub const MAX_HOP: usize = 2048;

const TYPE: &str = "affinity-hop+jwt";

/// What is derived for marks: no key of a pin or an override signs or verifies one.
const LABEL: &[u8] = b"hop";

/// The key of marks that belongs to a key of the ring. Whoever makes one also takes them, so they
/// are signed by a secret that both have, whatever pins are signed with.
#[derive(Clone)]
pub(super) struct HopKey {
    key: Key,
    /// The encoded header of every mark that it signs.
    header: String,
}

#[derive(Serialize, Deserialize)]
struct Marked<'a> {
    #[serde(borrow)]
    aud: Cow<'a, str>,
    exp: u64,
    /// The group in clear: no client sees a mark.
    #[serde(borrow)]
    grp: Cow<'a, str>,
    r#gen: u32,
    #[serde(borrow)]
    dec: Cow<'a, str>,
    #[serde(borrow)]
    why: Cow<'a, str>,
    #[serde(borrow)]
    coh: Cow<'a, str>,
    /// The session's pin as it is after the decision.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pin: Option<Claims<'a>>,
}

impl HopKey {
    /// `None` for a key that only verifies: it has nothing that two processes could share.
    pub(super) fn new(key: &Key) -> Option<Self> {
        let key = key.derived_as(KeyKind::Hs256, LABEL)?;
        let header = serde_json::to_vec(&key.header(TYPE)).ok()?;
        let header = URL_SAFE_NO_PAD.encode(header);
        Some(Self { key, header })
    }
}

impl PinCodec {
    /// Seals what was decided into a mark, with what is derived from the first key.
    ///
    /// `None` for a refusal: there is nothing to take to a peer.
    #[must_use]
    pub fn seal_hop(&self, decision: &Decision, now: Timestamp) -> Option<String> {
        let group = decision.group.as_ref();
        let group = group.filter(|_| decision.kind != Kind::Refused)?;
        let HopKey { key, header } = self.hops().first()?;
        let marked = Marked {
            aud: Cow::Borrowed(self.service().as_str()),
            exp: now.plus(HOP_LIFE).as_secs(),
            grp: Cow::Borrowed(group.name().as_str()),
            r#gen: group.generation(),
            dec: Cow::Borrowed(decision.kind.as_str()),
            why: Cow::Borrowed(decision.cause.as_str()),
            coh: Cow::Borrowed(decision.cohort.as_str()),
            pin: decision.pin.as_ref().and_then(|pin| self.claims_of(pin)),
        };
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&marked).ok()?);
        let message = format!("{header}.{payload}");
        let signature = key.sign(&message)?;
        Some(format!("{message}.{signature}"))
    }

    /// Opens a mark: the decision as the peer has made it, which writes no pin here.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn open_hop(&self, token: &[u8], now: Timestamp) -> Result<Decision, Fault> {
        if token.len() > MAX_HOP {
            return Err(Fault::Oversize);
        }
        let token = std::str::from_utf8(token).map_err(|_| Fault::Malformed)?;
        let (message, signature) = token.rsplit_once('.').ok_or(Fault::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(Fault::Malformed)?;
        // only headers that we write are read
        let hop = self.hops().iter().find(|hop| hop.header == header);
        let hop = hop.ok_or_else(|| self.foreign_hop(token))?;
        hop.key.verify(message.as_bytes(), signature.as_bytes())?;
        let json = URL_SAFE_NO_PAD
            .decode(payload)
            .map_err(|_| Fault::Malformed)?;
        let marked: Marked<'_> = serde_json::from_slice(&json).map_err(|_| Fault::Malformed)?;
        if marked.aud != self.service().as_str() {
            return Err(Fault::WrongAudience);
        }
        let expires = Timestamp::from_secs(marked.exp);
        if now >= expires.plus(SKEW) {
            return Err(Fault::ExpiredMax);
        }
        if expires > now.plus(HOP_LIFE).plus(SKEW) {
            return Err(Fault::FromFuture);
        }
        decided(marked)
    }

    fn foreign_hop(&self, token: &str) -> Fault {
        let Ok(header) = jsonwebtoken::decode_header(token) else {
            return Fault::Malformed;
        };
        if header.typ.as_deref() != Some(TYPE) {
            return Fault::WrongType;
        }
        let kid = header.kid.as_deref();
        let mut keys = self.hops().iter().map(|hop| &hop.key);
        match keys.any(|key| kid == Some(key.id().as_str())) {
            true => Fault::BadSignature,
            false => Fault::UnknownKey,
        }
    }
}

fn decided(marked: Marked<'_>) -> Result<Decision, Fault> {
    let name = marked.grp.parse().map_err(|_| Fault::Malformed)?;
    let group = GroupId::new(name, marked.r#gen);
    let kind = Kind::parse(&marked.dec).filter(|kind| *kind != Kind::Refused);
    let mut pin = marked.pin.map(pin).transpose()?;
    if let Some(pin) = &mut pin {
        // the peer may know a group that is not known here yet
        pin.group = GroupRef::Known(group.clone());
    }
    Ok(Decision {
        kind: kind.ok_or(Fault::Malformed)?,
        // a word of a later release: it is served all the same
        cause: Cause::parse(&marked.why).unwrap_or(Cause::None),
        cohort: Cohort::parse(&marked.coh).unwrap_or(Cohort::None),
        group: Some(group),
        pin,
        issue: false,
        endpoint_key: None,
    })
}
