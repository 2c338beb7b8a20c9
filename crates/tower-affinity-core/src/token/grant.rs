//! Overrides: signed, short-lived choices of a group for testers. No override is a pin.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::code::Coder;
use super::{GroupCodes, IdSecret, Key, MAX_ASYMMETRIC, MAX_TOKEN, PinCodec};
use crate::{Fault, GroupCode, GroupId, GroupRef, MAX_CANDIDATES, Timestamp};

/// The longest life of an override: 24 hours.
pub const MAX_OVERRIDE: Duration = Duration::from_secs(24 * 60 * 60);

const TYPE: &str = "affinity-override+jwt";

/// What is derived for overrides: no key of a pin signs or verifies one.
const LABEL: &[u8] = b"override";

/// The choice of a group for the requests that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The group.
    pub group: GroupRef,
    /// When it ends.
    pub expires: Timestamp,
    /// Whether it begins a session there, which outlasts it.
    pub sticky: bool,
}

/// The key of overrides that belongs to a key of the ring that signs.
#[derive(Clone)]
pub(super) struct GrantKey {
    key: Key,
    header: String,
    coder: Coder,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    aud: String,
    grp: String,
    exp: u64,
    #[serde(default)]
    sticky: bool,
}

impl GrantKey {
    /// `None` for a key that only verifies: who cannot sign is not to tell testers where to go.
    pub(super) fn new(key: &Key, ids: Option<&IdSecret>) -> Option<Self> {
        let coder = Coder::new(key, ids)?;
        let key = key.derived(LABEL)?;
        Some(Self {
            header: URL_SAFE_NO_PAD.encode(serde_json::to_vec(&key.header(TYPE)).ok()?),
            key,
            coder,
        })
    }
}

impl PinCodec {
    /// Seals an override for `group` with what is derived from the first key.
    ///
    /// `None` if it would live longer than [`MAX_OVERRIDE`] from `now` on, or not at all.
    #[must_use]
    pub fn seal_override(
        &self,
        group: &GroupId,
        ttl: Duration,
        sticky: bool,
        now: Timestamp,
    ) -> Option<String> {
        if ttl > MAX_OVERRIDE || ttl.as_secs() == 0 {
            return None;
        }
        let key = self.grants().first()?;
        let claims = Claims {
            aud: self.service().as_str().to_owned(),
            grp: key.coder.group(self.service(), group).encode(),
            exp: now.plus(ttl).as_secs(),
            sticky,
        };
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims).ok()?);
        let message = format!("{}.{payload}", key.header);
        let signature = key.key.sign(&message)?;
        Some(format!("{message}.{signature}"))
    }

    /// Opens an override: its group is still a code, see [`GroupCodes::resolve_override`].
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn open_override(&self, token: &[u8], now: Timestamp) -> Result<Override, Fault> {
        if token.len() > MAX_TOKEN {
            return Err(Fault::Oversize);
        }
        let token = std::str::from_utf8(token).map_err(|_| Fault::Malformed)?;
        let (message, signature) = token.rsplit_once('.').ok_or(Fault::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(Fault::Malformed)?;
        // only headers that we write are read
        let key = self.grants().iter().find(|key| key.header == header);
        let key = key.ok_or_else(|| self.foreign(token))?;
        key.key.verify(message.as_bytes(), signature.as_bytes())?;
        let json = URL_SAFE_NO_PAD
            .decode(payload)
            .map_err(|_| Fault::Malformed)?;
        let claims: Claims = serde_json::from_slice(&json).map_err(|_| Fault::Malformed)?;
        if claims.aud != self.service().as_str() {
            return Err(Fault::WrongAudience);
        }
        let expires = Timestamp::from_secs(claims.exp);
        if now >= expires {
            return Err(Fault::ExpiredMax);
        }
        if expires > now.plus(MAX_OVERRIDE).plus(crate::pin::SKEW) {
            return Err(Fault::FromFuture);
        }
        let code = GroupCode::decode(&claims.grp).ok_or(Fault::Malformed)?;
        Ok(Override {
            group: GroupRef::Unknown(code),
            expires,
            sticky: claims.sticky,
        })
    }

    /// The most candidates for an override that are verified: fewer where one is dear to verify.
    #[must_use]
    pub fn max_overrides(&self) -> usize {
        let mut grants = self.grants().iter();
        match grants.any(|grant| grant.key.kind().is_asymmetric()) {
            true => MAX_ASYMMETRIC,
            false => MAX_CANDIDATES,
        }
    }

    fn foreign(&self, token: &str) -> Fault {
        let Ok(header) = jsonwebtoken::decode_header(token) else {
            return Fault::Malformed;
        };
        if header.typ.as_deref() != Some(TYPE) {
            return Fault::WrongType;
        }
        let kid = header.kid.as_deref();
        match self
            .grants()
            .iter()
            .any(|key| kid == Some(key.key.id().as_str()))
        {
            true => Fault::BadSignature,
            false => Fault::UnknownKey,
        }
    }
}

impl GroupCodes {
    /// Puts the id that is known here into an opened override.
    pub fn resolve_override(&self, chosen: &mut Override) {
        self.resolve_ref(&mut chosen.group);
    }
}
