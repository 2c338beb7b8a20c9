//! Opens tokens into pins.

use std::sync::Arc;

use jsonwebtoken::errors::ErrorKind;
use memchr::memrchr;

use super::claims::Claims;
use super::code::Coder;
use super::head::Head;
use super::keyring::Ring;
use super::scan::{scan, start};
use super::verified::{VERIFIED, Verified};
use super::{CodeCollision, EndpointCodes, GroupCodes, KeyId, VerifyingKeyring};
use crate::pin::SKEW;
use crate::{
    ArmCodes, EndpointCode, EndpointId, EndpointRef, Fault, GroupCode, GroupId, GroupRef, LastMove,
    Lifetimes, Outcomes, Revision, Rollout, ServiceName, SessionPin, Timestamp, ToldCause,
    base64url,
};

/// The greatest length of a token in bytes; a longer one is not looked at.
pub const MAX_TOKEN: usize = 512;

/// The kind of our tokens; one of another kind is never a pin.
pub(super) const TYPE: &str = "affinity+jwt";

/// The most candidates of one carrier that are verified with Ed25519, each of which costs as much as
/// forty with HS256.
pub const MAX_ASYMMETRIC: usize = 2;

/// Opens the pins of one service with the keys of one ring, and makes none.
///
/// Of the tokens that Ed25519 signed it remembers which it has verified lately (16,384 by default,
/// 512 KiB): for these only the signature is not verified again. Clones share that memory.
#[derive(Clone)]
pub struct PinVerifier {
    service: ServiceName,
    /// What the claims of all its pins begin with.
    start: Arc<str>,
    keys: Arc<[VerifyingKey]>,
    /// Whether any of them is for Ed25519.
    asymmetric: bool,
    verified: Option<Arc<Verified>>,
}

struct VerifyingKey {
    head: Head,
    /// `None` without an id secret: the groups of this key's pins stay codes.
    coder: Option<Coder>,
}

/// A token of one of our keys, taken apart.
struct Parts<'k, 't> {
    key: &'k VerifyingKey,
    payload: &'t [u8],
    signature: &'t [u8],
    /// Whether its header is spelled in another way than ours.
    foreign: bool,
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

impl PinVerifier {
    /// A verifier of the pins of `service`.
    #[must_use]
    pub fn new(service: ServiceName, keyring: &VerifyingKeyring) -> Self {
        Self::of(service, keyring.ring())
    }

    pub(super) fn of(service: ServiceName, ring: &Ring) -> Self {
        let keys = ring.keys.iter().map(|key| VerifyingKey {
            head: Head::new(key, TYPE),
            coder: Coder::new(key, ring.ids.as_ref()),
        });
        Self {
            keys: keys.collect(),
            asymmetric: ring.keys.iter().any(|key| key.kind().is_asymmetric()),
            verified: None,
            start: start(&service).into(),
            service,
        }
        .remember(VERIFIED)
    }

    /// How many tokens that Ed25519 signed it remembers as verified, rounded up to a power of two and
    /// at most 1,048,576; 0 for none. With HS256 it never does: there a signature costs no more than
    /// finding it.
    #[must_use]
    pub fn remember(self, tokens: usize) -> Self {
        let verified = Verified::new(tokens).filter(|_| self.asymmetric);
        Self {
            verified: verified.map(Arc::new),
            ..self
        }
    }

    /// The service that the pins are for.
    #[must_use]
    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    /// The ids of the keys.
    pub fn key_ids(&self) -> impl Iterator<Item = &KeyId> {
        self.keys.iter().map(|key| key.head.key().id())
    }

    /// The codes of all ids of `rollout` under all keys; without an id secret
    /// there is none under a key for Ed25519.
    ///
    /// # Errors
    ///
    /// If two ids have one code.
    pub fn codes(&self, rollout: &Rollout) -> Result<GroupCodes, CodeCollision> {
        let mut codes = GroupCodes::default();
        for id in rollout.ids() {
            for coder in self.coders() {
                codes.insert(coder.group(&self.service, id), id)?;
            }
        }
        Ok(codes)
    }

    /// The codes of some `endpoints` of `group` under all keys; without an id secret
    /// there is none under a key for Ed25519.
    #[must_use]
    pub fn endpoint_codes(&self, group: &GroupId, endpoints: &[EndpointId]) -> EndpointCodes {
        let mut codes = EndpointCodes::default();
        for id in endpoints {
            for coder in self.coders() {
                codes.insert(coder.endpoint(&self.service, group, id), id);
            }
        }
        codes
    }

    fn coders(&self) -> impl Iterator<Item = &Coder> {
        self.keys.iter().filter_map(|key| key.coder.as_ref())
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
        let (pin, key) = self.open_by(token, now, lifetimes)?;
        let key = key.clone();
        Ok(Opened { pin: *pin, key })
    }

    /// As [`PinVerifier::open`], with the key as it is held here.
    fn open_by(
        &self,
        token: &[u8],
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Result<(Box<SessionPin>, &KeyId), Fault> {
        if token.len() > MAX_TOKEN {
            return Err(Fault::Oversize);
        }
        let parts = self.parts(token)?;
        let key = parts.key.head.key();
        let memory = self.verified.as_deref();
        let memory = memory.filter(|_| key.kind().is_asymmetric());
        let memory = memory.map(|verified| (verified, Verified::digest(token)));
        let known = memory.is_some_and(|(verified, digest)| verified.has(&digest));
        if !known {
            parts.verify(token)?;
        }
        let mut json = [0; MAX_TOKEN];
        let json = base64url::decode(parts.payload, &mut json).ok_or(Fault::Malformed)?;
        let pin = match scan(json, self.start.as_bytes()) {
            Some(pin) => Box::new(pin),
            None => Box::new(self.parsed(json, now)?),
        };
        pin.check_times(now, lifetimes)?;
        if let Some((verified, digest)) = memory.filter(|_| !known) {
            verified.insert(digest);
        }
        Ok((pin, key.id()))
    }

    /// The pin of claims that are spelled in another way than ours.
    fn parsed(&self, json: &[u8], now: Timestamp) -> Result<SessionPin, Fault> {
        let claims: Claims<'_> = serde_json::from_slice(json).map_err(|_| Fault::Malformed)?;
        if claims.aud != self.service.as_str() {
            return Err(Fault::WrongAudience);
        }
        check_not_before(&claims, now)?;
        pin(claims)
    }

    /// The parts of a token, and the key that its header names.
    fn parts<'k, 't>(&'k self, token: &'t [u8]) -> Result<Parts<'k, 't>, Fault> {
        let ours = |key: &'k VerifyingKey| Some((key, key.head.rest_of(token)?));
        let (key, rest, foreign) = match self.keys.iter().find_map(ours) {
            Some((key, rest)) => (key, rest, false),
            None => {
                let (key, rest) = self.foreign(token)?;
                (key, rest, true)
            }
        };
        let dot = memrchr(b'.', rest);
        let split = dot.and_then(|dot| rest.split_at_checked(dot));
        match split {
            Some((payload, [_, signature @ ..])) if !signature.is_empty() => Ok(Parts {
                key,
                payload,
                signature,
                foreign,
            }),
            _ => Err(Fault::Malformed),
        }
    }

    /// Opens the candidates of one carrier, of which at most [`MAX_ASYMMETRIC`] may be signed with
    /// Ed25519.
    #[must_use]
    pub fn opener(&self, now: Timestamp, lifetimes: Lifetimes) -> Opener<'_> {
        Opener {
            verifier: self,
            now,
            lifetimes,
            asymmetric: 0,
        }
    }

    /// Whether a token names a key for Ed25519, whatever else is in it.
    fn is_asymmetric(&self, token: &[u8]) -> bool {
        let mut keys = self.keys.iter();
        let key = keys.find(|key| key.head.rest_of(token).is_some());
        let foreign = || self.foreign(token).ok().map(|(key, _)| key);
        let key = (token.len() <= MAX_TOKEN).then(|| key.or_else(foreign));
        let key = key.flatten().map(|key| key.head.key());
        key.is_some_and(|key| key.kind().is_asymmetric())
    }

    /// The key of a token whose header none of our keys would write, and what follows that header.
    fn foreign<'a>(&self, token: &'a [u8]) -> Result<(&VerifyingKey, &'a [u8]), Fault> {
        let text = std::str::from_utf8(token).map_err(|_| Fault::Malformed)?;
        match text.split('.').collect::<Vec<_>>()[..] {
            [_, rest, signature] if !signature.is_empty() => {
                let key = self.key_of_foreign_header(text)?;
                let at = token.len() - rest.len() - 1 - signature.len();
                Ok((key, token.get(at..).unwrap_or_default()))
            }
            _ => Err(Fault::Malformed),
        }
    }

    /// Looks at a header that none of our keys would write: it tells what the token is instead.
    fn key_of_foreign_header(&self, token: &str) -> Result<&VerifyingKey, Fault> {
        let header = jsonwebtoken::decode_header(token).map_err(|error| match error.kind() {
            // JSON with an algorithm that the library does not know, such as "none"
            ErrorKind::Json(error) if error.is_data() => Fault::WrongType,
            _ => Fault::Malformed,
        })?;
        if header.typ.as_deref() != Some(TYPE) {
            return Err(Fault::WrongType);
        }
        let kid = header.kid.as_deref().ok_or(Fault::UnknownKey)?;
        let mut keys = self.keys.iter();
        let key = keys.find(|key| key.head.key().id().as_str() == kid);
        let key = key.ok_or(Fault::UnknownKey)?;
        if !key.head.key().is_for(header.alg) {
            return Err(Fault::BadSignature);
        }
        // we write none of these, and each could change what the rest of the token means
        let unencoded = header.extras.inner().contains_key("b64");
        if unencoded || header.crit.is_some() || header.zip.is_some() || header.enc.is_some() {
            return Err(Fault::Malformed);
        }
        Ok(key)
    }
}

impl std::fmt::Debug for PinVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&KeyId> = self.key_ids().collect();
        f.debug_struct("PinVerifier")
            .field("service", &self.service)
            .field("keys", &keys)
            .field("verified", &self.verified)
            .finish()
    }
}

/// Opens the candidates of one carrier; see [`PinVerifier::opener`].
#[derive(Clone, Debug)]
pub struct Opener<'a> {
    verifier: &'a PinVerifier,
    now: Timestamp,
    lifetimes: Lifetimes,
    asymmetric: usize,
}

impl<'a> Opener<'a> {
    /// Opens the next candidate, and tells which key has signed it.
    ///
    /// # Errors
    ///
    /// What is wrong with it; [`Fault::Duplicates`] for one too many that Ed25519 would have to verify,
    /// remembered or not, after which none of the carrier counts (see [`choose`](crate::choose)).
    pub fn open(&mut self, token: &[u8]) -> Result<(Box<SessionPin>, &'a KeyId), Fault> {
        // only a ring with such a key has a reason to look
        if self.verifier.asymmetric && self.verifier.is_asymmetric(token) {
            self.asymmetric += 1;
            if self.asymmetric > MAX_ASYMMETRIC {
                return Err(Fault::Duplicates);
            }
        }
        self.verifier.open_by(token, self.now, self.lifetimes)
    }
}

impl Parts<'_, '_> {
    fn verify(&self, token: &[u8]) -> Result<(), Fault> {
        let verified = if self.foreign {
            let message = token.len().saturating_sub(self.signature.len() + 1);
            let message = token.get(..message).unwrap_or_default();
            self.key.head.key().verify(message, self.signature)
        } else {
            self.key.head.verify(self.payload, self.signature)
        };
        match verified {
            // whatever is no text of three parts is none that somebody has signed in vain
            Err(_) if self.payload.contains(&b'.') => Err(Fault::Malformed),
            Err(_) if std::str::from_utf8(token).is_err() => Err(Fault::Malformed),
            verified => verified,
        }
    }
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
