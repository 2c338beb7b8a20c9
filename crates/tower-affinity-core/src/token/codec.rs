//! Seals pins into tokens and opens tokens into pins.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;

use super::claims::{Claims, Last};
use super::code::Coder;
use super::grant::GrantKey;
use super::hop::HopKey;
use super::{CodeCollision, EndpointCodes, GroupCodes, Key, KeyId, Keyring};
use crate::pin::SKEW;
use crate::{
    ArmCodes, EndpointCode, EndpointId, EndpointRef, Fault, GroupCode, GroupId, GroupRef, LastMove,
    Lifetimes, Outcomes, Revision, Rollout, ServiceName, SessionPin, Timestamp, ToldCause,
    UnknownClaims,
};

/// The greatest length of a token in bytes; a longer one is not looked at.
pub const MAX_TOKEN: usize = 512;

/// The kind of our tokens; one of another kind is never a pin.
const TYPE: &str = "affinity+jwt";

/// Seals and opens the pins of one service with the keys of one ring.
#[derive(Clone)]
pub struct PinCodec {
    service: ServiceName,
    keys: Vec<CodecKey>,
    grants: Vec<GrantKey>,
    hops: Vec<HopKey>,
}

#[derive(Clone)]
struct CodecKey {
    key: Key,
    /// The encoded header of this key's tokens: comparing it finds the key without decoding.
    header: String,
    coder: Coder,
}

/// A token that was opened: its group and its endpoint are still codes, see [`GroupCodes::resolve`]
/// and [`EndpointCodes::resolve`].
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The pin.
    pub pin: SessionPin,
    /// The key that signed it.
    pub key: KeyId,
}

/// A pin as a token.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The token.
    pub token: String,
    /// Whether claims of other releases were left out because the token would be too long.
    pub dropped_unknown: bool,
}

impl std::fmt::Debug for Sealed {
    /// Without the token, which has no place in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealed")
            .field("len", &self.token.len())
            .field("dropped_unknown", &self.dropped_unknown)
            .finish_non_exhaustive()
    }
}

impl PinCodec {
    /// A codec for the pins of `service`.
    #[must_use]
    pub fn new(service: ServiceName, keyring: &Keyring) -> Self {
        let keys = keyring.keys().iter().map(|key| CodecKey {
            header: encoded_header(key),
            coder: Coder::new(key),
            key: key.clone(),
        });
        Self {
            keys: keys.collect(),
            grants: keyring.keys().iter().filter_map(GrantKey::new).collect(),
            hops: keyring.keys().iter().filter_map(HopKey::new).collect(),
            service,
        }
    }

    /// The service that the pins are for.
    #[must_use]
    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    pub(super) fn grants(&self) -> &[GrantKey] {
        &self.grants
    }

    pub(super) fn hops(&self) -> &[HopKey] {
        &self.hops
    }

    /// The claims of a pin under the first key.
    pub(super) fn claims_of<'a>(&self, pin: &'a SessionPin) -> Option<Claims<'a>> {
        self.keys.first().map(|key| self.claims(key, pin))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter().map(|key| &key.key)
    }

    /// The ids of the keys; the first one signs.
    pub fn key_ids(&self) -> impl Iterator<Item = &KeyId> {
        self.keys().map(Key::id)
    }

    /// The codes of all ids of `rollout` under all keys.
    ///
    /// # Errors
    ///
    /// If two ids have one code.
    pub fn codes(&self, rollout: &Rollout) -> Result<GroupCodes, CodeCollision> {
        let mut codes = GroupCodes::default();
        for id in rollout.ids() {
            for key in &self.keys {
                codes.insert(key.coder.group(&self.service, id), id)?;
            }
        }
        Ok(codes)
    }

    /// The codes of some `endpoints` of `group` under all keys.
    #[must_use]
    pub fn endpoint_codes(&self, group: &GroupId, endpoints: &[EndpointId]) -> EndpointCodes {
        let mut codes = EndpointCodes::default();
        for id in endpoints {
            for key in &self.keys {
                codes.insert(key.coder.endpoint(&self.service, group, id), id);
            }
        }
        codes
    }

    /// Seals a pin with the first key.
    ///
    /// Claims of other releases are left out of a token that would be longer than [`MAX_TOKEN`], then
    /// what became of the session, which is counted again at worst, then arms of experiments, the last
    /// ones first, which are drawn anew, and then the endpoint: a session can do without its own, and
    /// not without its group.
    /// The empty text is answered should the cryptography fail, which no key of ours makes it do.
    #[must_use]
    pub fn seal(&self, pin: &SessionPin) -> Sealed {
        let Some(key) = self.keys.first() else {
            return Sealed::default();
        };
        let mut claims = self.claims(key, pin);
        let token = key.sign(&claims);
        if token.len() <= MAX_TOKEN {
            return Sealed {
                token,
                dropped_unknown: false,
            };
        }
        let dropped_unknown = !claims.unknown.is_empty();
        claims.unknown = UnknownClaims::default();
        let mut token = key.sign(&claims);
        if token.len() > MAX_TOKEN {
            claims.out = 0;
            token = key.sign(&claims);
        }
        let mut arms = pin.arms.clone();
        while token.len() > MAX_TOKEN && claims.arm.is_some() {
            arms = arms.without_last();
            claims.arm = arms.encode().map(Cow::Owned);
            token = key.sign(&claims);
        }
        if token.len() > MAX_TOKEN {
            claims.ep = None;
            token = key.sign(&claims);
        }
        Sealed {
            token,
            dropped_unknown,
        }
    }

    /// Opens a token.
    ///
    /// # Errors
    ///
    /// What is wrong with it. Nothing is decoded of a token that is too long, and nothing of one
    /// that we did not sign is believed.
    pub fn open(
        &self,
        token: &[u8],
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Result<Opened, Fault> {
        if token.len() > MAX_TOKEN {
            return Err(Fault::Oversize);
        }
        let token = std::str::from_utf8(token).map_err(|_| Fault::Malformed)?;
        let (message, signature) = token.rsplit_once('.').ok_or(Fault::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(Fault::Malformed)?;
        if payload.contains('.') || signature.is_empty() {
            return Err(Fault::Malformed);
        }
        let key = match self.keys.iter().find(|key| key.header == header) {
            Some(key) => key,
            None => self.key_of_foreign_header(token)?,
        };
        key.verify(message, signature)?;
        let mut json = [0; MAX_TOKEN];
        let len = URL_SAFE_NO_PAD
            .decode_slice(payload, &mut json)
            .map_err(|_| Fault::Malformed)?;
        let json = json.get(..len).ok_or(Fault::Malformed)?;
        let claims: Claims<'_> = serde_json::from_slice(json).map_err(|_| Fault::Malformed)?;
        if claims.aud != self.service.as_str() {
            return Err(Fault::WrongAudience);
        }
        check_not_before(&claims, now)?;
        let pin = pin(claims)?;
        pin.check_times(now, lifetimes)?;
        Ok(Opened {
            pin,
            key: key.key.id().clone(),
        })
    }

    /// Looks at a header that none of our keys would write: it tells what the token is instead.
    fn key_of_foreign_header(&self, token: &str) -> Result<&CodecKey, Fault> {
        let header = jsonwebtoken::decode_header(token).map_err(|error| match error.kind() {
            // JSON with an algorithm that the library does not know, such as "none"
            ErrorKind::Json(error) if error.is_data() => Fault::WrongType,
            _ => Fault::Malformed,
        })?;
        if header.typ.as_deref() != Some(TYPE) {
            return Err(Fault::WrongType);
        }
        let kid = header.kid.as_deref().ok_or(Fault::UnknownKey)?;
        let key = self.keys.iter().find(|key| key.key.id().as_str() == kid);
        let key = key.ok_or(Fault::UnknownKey)?;
        if header.alg != key.key.algorithm().for_library() {
            return Err(Fault::BadSignature);
        }
        // we write none of these, and each could change what the rest of the token means
        let unencoded = header.extras.inner().contains_key("b64");
        if unencoded || header.crit.is_some() || header.zip.is_some() || header.enc.is_some() {
            return Err(Fault::Malformed);
        }
        Ok(key)
    }

    fn claims<'a>(&self, key: &CodecKey, pin: &'a SessionPin) -> Claims<'a> {
        let code = |group: &GroupRef| {
            Cow::Owned(match group {
                GroupRef::Known(id) => key.coder.group(&self.service, id).encode(),
                GroupRef::Unknown(code) => code.encode(),
            })
        };
        let endpoint = match (&pin.group, pin.endpoint.as_ref()) {
            (_, None) => None,
            (_, Some(EndpointRef::Unknown(code))) => Some(*code),
            (GroupRef::Known(group), Some(EndpointRef::Known(id))) => {
                Some(key.coder.endpoint(&self.service, group, id))
            }
            // an endpoint is known only of a group that is
            (GroupRef::Unknown(_), Some(EndpointRef::Known(_))) => None,
        };
        Claims {
            aud: Cow::Owned(self.service.as_str().to_owned()),
            sid: Cow::Owned(pin.session.to_string()),
            grp: code(&pin.group),
            sst: pin.started.as_secs(),
            iat: pin.issued.as_secs(),
            exp: pin.expires.as_secs(),
            rev: pin.revision.0,
            arv: pin.assigned.0,
            mv: pin.moves,
            last: pin.last_move.as_ref().map(|last| Last {
                from: code(&last.from),
                at: last.at.as_secs(),
                cause: Cow::Borrowed(last.cause.as_str()),
            }),
            ep: endpoint.map(|code| Cow::Owned(code.encode())),
            fx: pin.placed,
            rl: pin.released,
            out: pin.outcomes.bits(),
            arm: pin.arms.encode().map(Cow::Owned),
            nbf: None,
            unknown: pin.unknown.clone(),
        }
    }
}

impl std::fmt::Debug for PinCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&KeyId> = self.key_ids().collect();
        f.debug_struct("PinCodec")
            .field("service", &self.service)
            .field("keys", &keys)
            .finish()
    }
}

impl CodecKey {
    fn sign(&self, claims: &Claims<'_>) -> String {
        let mut token = String::with_capacity(MAX_TOKEN);
        token.push_str(&self.header);
        token.push('.');
        // the claims are strings and numbers, which JSON can always hold
        let json = serde_json::to_vec(claims).unwrap_or_default();
        URL_SAFE_NO_PAD.encode_string(json, &mut token);
        let algorithm = self.key.algorithm().for_library();
        match jsonwebtoken::crypto::sign(token.as_bytes(), self.key.encoding(), algorithm) {
            Ok(signature) => {
                token.push('.');
                token.push_str(&signature);
                token
            }
            Err(_) => String::new(),
        }
    }

    fn verify(&self, message: &str, signature: &str) -> Result<(), Fault> {
        let algorithm = self.key.algorithm().for_library();
        match jsonwebtoken::crypto::verify(
            signature,
            message.as_bytes(),
            self.key.decoding(),
            algorithm,
        ) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::BadSignature),
            Err(_) => Err(Fault::Malformed),
        }
    }
}

fn encoded_header(key: &Key) -> String {
    let mut header = jsonwebtoken::Header::new(key.algorithm().for_library());
    header.typ = Some(TYPE.to_owned());
    header.kid = Some(key.id().as_str().to_owned());
    // a header of three strings is always JSON
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&header).unwrap_or_default())
}

pub(super) fn pin(claims: Claims<'_>) -> Result<SessionPin, Fault> {
    let code = |text: &str| {
        GroupCode::decode(text)
            .map(GroupRef::Unknown)
            .ok_or(Fault::Malformed)
    };
    let last_move = match &claims.last {
        None => None,
        // no release writes such a word: the move is over, its reason can be missed
        Some(last) => match ToldCause::parse(&last.cause) {
            None => None,
            Some(cause) => Some(LastMove {
                from: code(&last.from)?,
                at: Timestamp::from_secs(last.at),
                cause,
            }),
        },
    };
    Ok(SessionPin {
        session: claims.sid.parse().map_err(|_| Fault::Malformed)?,
        group: code(&claims.grp)?,
        started: Timestamp::from_secs(claims.sst),
        issued: Timestamp::from_secs(claims.iat),
        expires: Timestamp::from_secs(claims.exp),
        revision: Revision(claims.rev),
        assigned: Revision(claims.arv),
        moves: claims.mv,
        last_move,
        // a code of another form is one of another release: an endpoint is chosen anew then
        endpoint: claims
            .ep
            .and_then(|text| EndpointCode::decode(&text))
            .map(EndpointRef::Unknown),
        placed: claims.fx,
        released: claims.rl,
        outcomes: Outcomes::from_bits(claims.out),
        arms: claims
            .arm
            .map_or_else(ArmCodes::default, |text| ArmCodes::decode(&text)),
        unknown: claims.unknown,
    })
}

fn check_not_before(claims: &Claims<'_>, now: Timestamp) -> Result<(), Fault> {
    match claims.nbf {
        Some(nbf) if Timestamp::from_secs(nbf) > now.plus(SKEW) => Err(Fault::FromFuture),
        _ => Ok(()),
    }
}
