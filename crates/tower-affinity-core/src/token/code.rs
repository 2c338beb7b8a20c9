//! The opaque forms of a group's id and of an endpoint's in a token.

use std::collections::BTreeMap;

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use super::{IdSecret, Key, KeyKind};
use crate::{
    EndpointCode, EndpointId, EndpointRef, GroupCode, GroupId, GroupName, GroupRef, ServiceName,
    SessionPin,
};

/// Makes the codes in the pins of one key.
#[derive(Clone)]
pub(super) struct Coder {
    groups: Hmac<Sha256>,
    endpoints: Hmac<Sha256>,
}

impl Coder {
    /// What makes the codes in the pins of `key`; `None` if that needs an id secret and there is none.
    ///
    /// With HS256 their keys are derived from the very key that signs, so that nobody who cannot
    /// sign can tell which code is which group's or endpoint's.
    pub(super) fn new(key: &Key, ids: Option<&IdSecret>) -> Option<Self> {
        let secret = match key.kind() {
            KeyKind::Hs256 => key.secret(),
            KeyKind::Ed25519 | KeyKind::Ed25519Public => ids.map(IdSecret::as_bytes),
        }?;
        Some(Self {
            groups: derived(secret, b"group-id"),
            endpoints: derived(secret, b"endpoint-id"),
        })
    }

    pub(super) fn group(&self, service: &ServiceName, id: &GroupId) -> GroupCode {
        GroupCode::new(code(named(&self.groups, service, id)))
    }

    /// The same endpoint of another group, or of another generation of it, has another code.
    pub(super) fn endpoint(
        &self,
        service: &ServiceName,
        id: &GroupId,
        endpoint: &EndpointId,
    ) -> EndpointCode {
        let mut mac = named(&self.endpoints, service, id);
        mac.update(&[0]);
        mac.update(endpoint.as_str().as_bytes());
        EndpointCode::new(code(mac))
    }
}

fn derived(secret: &[u8], label: &[u8]) -> Hmac<Sha256> {
    let mut derived = [0; 32];
    let expanded = Hkdf::<Sha256>::new(None, secret).expand(label, &mut derived);
    debug_assert!(expanded.is_ok(), "32 bytes are within what HKDF can give");
    // HMAC fills a short key up with zeros to the hash's block of 64 bytes (RFC 2104)
    let mut block = [0; 64];
    block.split_at_mut(32).0.copy_from_slice(&derived);
    <Hmac<Sha256> as KeyInit>::new(&block.into())
}

fn named(mac: &Hmac<Sha256>, service: &ServiceName, id: &GroupId) -> Hmac<Sha256> {
    let mut mac = mac.clone();
    mac.update(service.as_str().as_bytes());
    mac.update(&[0]);
    mac.update(id.name().as_str().as_bytes());
    mac.update(&[0]);
    mac.update(id.generation().to_string().as_bytes());
    mac
}

fn code(mac: Hmac<Sha256>) -> [u8; 10] {
    let digest: [u8; 32] = mac.finalize().into_bytes().into();
    let mut code = [0; 10];
    code.copy_from_slice(digest.split_at(10).0);
    code
}

/// Two groups of one rollout have the same code.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("group {0} has the same short id as another group")]
pub struct CodeCollision(pub GroupName);

/// The codes of all ids of a rollout under all keys of a ring.
#[derive(Clone, Debug, Default)]
pub struct GroupCodes {
    /// There are few: an ordered map compares one or two nodes, and no code is hashed.
    ids: BTreeMap<GroupCode, GroupId>,
}

impl GroupCodes {
    pub(super) fn insert(&mut self, code: GroupCode, id: &GroupId) -> Result<(), CodeCollision> {
        match self.ids.insert(code, id.clone()) {
            Some(other) if other != *id => Err(CodeCollision(id.name().clone())),
            _ => Ok(()),
        }
    }

    /// Puts the ids that are known here into an opened pin.
    pub fn resolve(&self, pin: &mut SessionPin) {
        self.resolve_ref(&mut pin.group);
        if let Some(last) = &mut pin.last_move {
            self.resolve_ref(&mut last.from);
        }
    }

    pub(super) fn resolve_ref(&self, group: &mut GroupRef) {
        if let GroupRef::Unknown(code) = group
            && let Some(id) = self.ids.get(code)
        {
            *group = GroupRef::Known(id.clone());
        }
    }
}

/// The codes of one group's endpoints under all keys of a ring.
#[derive(Clone, Debug, Default)]
pub struct EndpointCodes {
    ids: BTreeMap<EndpointCode, EndpointId>,
}

impl EndpointCodes {
    /// Should two endpoints have one code, the later one gets the sessions of both: any endpoint of
    /// the group can serve them.
    pub(super) fn insert(&mut self, code: EndpointCode, id: &EndpointId) {
        self.ids.insert(code, id.clone());
    }

    /// Puts the endpoint's id into an opened pin of their group, if it is one of these.
    pub fn resolve(&self, pin: &mut SessionPin) {
        if let Some(EndpointRef::Unknown(code)) = pin.endpoint
            && let Some(id) = self.ids.get(&code)
        {
            pin.endpoint = Some(EndpointRef::Known(id.clone()));
        }
    }
}
