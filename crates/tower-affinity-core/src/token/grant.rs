//! Overrides: signed, short-lived choices of a group for testers. No override is a pin.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hkdf::Hkdf;
use jsonwebtoken::{DecodingKey, EncodingKey};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::code::Coder;
use super::{GroupCodes, Key, KeyId, MAX_TOKEN, PinCodec};
use crate::{Fault, GroupCode, GroupId, GroupRef, Timestamp};

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

/// The key of overrides that belongs to a key of the ring.
#[derive(Clone)]
pub(super) struct GrantKey {
    id: KeyId,
    header: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
    algorithm: jsonwebtoken::Algorithm,
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
    /// `None` should the cryptography fail, which no key of ours makes it do.
    pub(super) fn new(key: &Key) -> Option<Self> {
        let mut derived = [0; 32];
        let hkdf = Hkdf::<Sha256>::new(None, key.secret());
        hkdf.expand(LABEL, &mut derived).ok()?;
        let algorithm = key.algorithm().for_library();
        let mut header = jsonwebtoken::Header::new(algorithm);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some(key.id().as_str().to_owned());
        Some(Self {
            id: key.id().clone(),
            header: URL_SAFE_NO_PAD.encode(serde_json::to_vec(&header).ok()?),
            encoding: EncodingKey::from_secret(&derived).ok()?,
            decoding: DecodingKey::from_secret(&derived).ok()?,
            algorithm,
            coder: Coder::new(key),
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
        let signed = jsonwebtoken::crypto::sign(message.as_bytes(), &key.encoding, key.algorithm);
        Some(format!("{message}.{}", signed.ok()?))
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
        let verified = jsonwebtoken::crypto::verify(
            signature,
            message.as_bytes(),
            &key.decoding,
            key.algorithm,
        );
        match verified {
            Ok(true) => {}
            Ok(false) => return Err(Fault::BadSignature),
            Err(_) => return Err(Fault::Malformed),
        }
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

    fn foreign(&self, token: &str) -> Fault {
        let Ok(header) = jsonwebtoken::decode_header(token) else {
            return Fault::Malformed;
        };
        if header.typ.as_deref() != Some(TYPE) {
            return Fault::WrongType;
        }
        let kid = header.kid.as_deref();
        match self.grants().iter().any(|key| kid == Some(key.id.as_str())) {
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
