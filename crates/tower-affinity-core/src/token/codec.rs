//! Seals pins into tokens.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::claims::{Claims, Last};
use super::code::Coder;
use super::coded::Coded;
use super::grant::GrantKey;
use super::head::Head;
use super::hop::HopKey;
use super::keyring::Ring;
use super::verifier::TYPE;
use super::{
    CodeCollision, EndpointCodes, GroupCodes, KeyId, Keyring, MAX_TOKEN, Opened, Opener,
    PinVerifier,
};
use crate::{
    EndpointId, EndpointRef, Fault, GroupId, GroupRef, Lifetimes, Rollout, ServiceName, SessionPin,
    Timestamp, UnknownClaims,
};

/// Seals and opens the pins of one service with the keys of one ring: a [`PinVerifier`] and the key
/// that signs.
#[derive(Clone)]
pub struct PinCodec {
    verifier: PinVerifier,
    ring: Keyring,
    signer: Option<Signer>,
    grants: Vec<GrantKey>,
    hops: Vec<HopKey>,
}

#[derive(Clone)]
struct Signer {
    head: Head,
    coder: Arc<Coded>,
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
        let Ring { keys, ids } = keyring.ring();
        let ids = ids.as_ref();
        // a ring that signs has a first key that does, and the id secret that this needs
        let signer = keys.first().and_then(|key| {
            Some(Signer {
                head: Head::new(key, TYPE),
                coder: Arc::new(Coded::new(Coder::new(key, ids)?)),
            })
        });
        Self {
            verifier: PinVerifier::of(service, keyring.ring()),
            grants: keys
                .iter()
                .filter_map(|key| GrantKey::new(key, ids))
                .collect(),
            signer,
            ring: keyring.clone(),
            hops: keys.iter().filter_map(HopKey::new).collect(),
        }
    }

    /// How many verified tokens it remembers; see [`PinVerifier::remember`].
    #[must_use]
    pub fn remember(self, tokens: usize) -> Self {
        Self {
            verifier: self.verifier.remember(tokens),
            ..self
        }
    }

    /// The part that opens.
    #[must_use]
    pub fn verifier(&self) -> &PinVerifier {
        &self.verifier
    }

    /// The service that the pins are for.
    #[must_use]
    pub fn service(&self) -> &ServiceName {
        self.verifier.service()
    }

    pub(super) fn grants(&self) -> &[GrantKey] {
        &self.grants
    }

    /// Whether it takes the marks that any key of its ring makes: those of a key that only verifies
    /// here are made with a half that is not here.
    #[must_use]
    pub fn takes_all_hops(&self) -> bool {
        self.hops.len() == self.key_ids().count()
    }

    pub(super) fn hops(&self) -> &[HopKey] {
        &self.hops
    }

    /// The claims of a pin under the key that signs.
    pub(super) fn claims_of<'a>(&'a self, pin: &'a SessionPin) -> Option<Claims<'a>> {
        self.signer.as_ref().map(|signer| self.claims(signer, pin))
    }

    pub(super) fn ring(&self) -> &Keyring {
        &self.ring
    }

    /// The ids of the keys; the first one signs.
    pub fn key_ids(&self) -> impl Iterator<Item = &KeyId> {
        self.verifier.key_ids()
    }

    /// The codes of all ids of `rollout` under all keys.
    ///
    /// # Errors
    ///
    /// If two ids have one code.
    pub fn codes(&self, rollout: &Rollout) -> Result<GroupCodes, CodeCollision> {
        self.verifier.codes(rollout)
    }

    /// The codes of some `endpoints` of `group` under all keys.
    #[must_use]
    pub fn endpoint_codes(&self, group: &GroupId, endpoints: &[EndpointId]) -> EndpointCodes {
        self.verifier.endpoint_codes(group, endpoints)
    }

    /// Opens a token; see [`PinVerifier::open`].
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn open(
        &self,
        token: &[u8],
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Result<Opened, Fault> {
        self.verifier.open(token, now, lifetimes)
    }

    /// Opens the candidates of one carrier; see [`PinVerifier::opener`].
    #[must_use]
    pub fn opener(&self, now: Timestamp, lifetimes: Lifetimes) -> Opener<'_> {
        self.verifier.opener(now, lifetimes)
    }

    /// Seals a pin with the first key.
    ///
    /// Claims of other releases are left out of a token that would be longer than [`MAX_TOKEN`], then
    /// what became of the session, which is counted again at worst, then arms of experiments, the last
    /// ones first, which are drawn anew, and then the endpoint: a session can do without its own, and
    /// not without its group. With Ed25519, whose signatures are longer, a service whose name is as long
    /// as it can be may miss where its session came from as well.
    /// The empty text is answered should the cryptography fail, which no key of ours makes it do.
    #[must_use]
    pub fn seal(&self, pin: &SessionPin) -> Sealed {
        let Some(signer) = &self.signer else {
            return Sealed::default();
        };
        let mut claims = self.claims(signer, pin);
        let token = signer.sign(&claims);
        if token.len() <= MAX_TOKEN {
            return Sealed {
                token,
                dropped_unknown: false,
            };
        }
        let dropped_unknown = !claims.unknown.is_empty();
        claims.unknown = UnknownClaims::default();
        let mut token = signer.sign(&claims);
        if token.len() > MAX_TOKEN {
            claims.out = 0;
            token = signer.sign(&claims);
        }
        let mut arms = pin.arms.clone();
        while token.len() > MAX_TOKEN && claims.arm.is_some() {
            arms = arms.without_last();
            claims.arm = arms.encode().map(Cow::Owned);
            token = signer.sign(&claims);
        }
        if token.len() > MAX_TOKEN {
            claims.ep = None;
            token = signer.sign(&claims);
        }
        if token.len() > MAX_TOKEN {
            claims.last = None;
            token = signer.sign(&claims);
        }
        Sealed {
            token,
            dropped_unknown,
        }
    }

    fn claims<'a>(&'a self, signer: &Signer, pin: &'a SessionPin) -> Claims<'a> {
        let code = |group: &GroupRef| {
            Cow::Owned(match group {
                GroupRef::Known(id) => signer.coder.group(self.service(), id).encode(),
                GroupRef::Unknown(code) => code.encode(),
            })
        };
        let endpoint = match (&pin.group, pin.endpoint.as_ref()) {
            (_, None) => None,
            (_, Some(EndpointRef::Unknown(code))) => Some(*code),
            (GroupRef::Known(group), Some(EndpointRef::Known(id))) => {
                Some(signer.coder.endpoint(self.service(), group, id))
            }
            // an endpoint is known only of a group that is
            (GroupRef::Unknown(_), Some(EndpointRef::Known(_))) => None,
        };
        Claims {
            aud: Cow::Borrowed(self.service().as_str()),
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
            .field("service", self.service())
            .field("keys", &keys)
            .finish()
    }
}

impl Signer {
    fn sign(&self, claims: &Claims<'_>) -> String {
        // what is signed is within these bounds, but for claims of other releases
        let mut json = Vec::with_capacity(MAX_TOKEN);
        let mut token = String::with_capacity(MAX_TOKEN);
        token.push_str(self.head.start());
        // the claims are strings and numbers, which JSON can always hold
        if serde_json::to_writer(&mut json, claims).is_err() {
            return String::new();
        }
        URL_SAFE_NO_PAD.encode_string(json, &mut token);
        match self.head.sign(&mut token) {
            Some(()) => token,
            None => String::new(),
        }
    }
}
