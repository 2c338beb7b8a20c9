//! The opaque form of a group's id in a token.

use std::collections::HashMap;

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use super::Key;
use crate::{GroupCode, GroupId, GroupName, GroupRef, ServiceName, SessionPin};

/// Makes the codes of one signing key.
#[derive(Clone)]
pub(super) struct Coder {
    mac: Hmac<Sha256>,
}

impl Coder {
    /// The key of the codes is derived from the very key that signs, so that nobody who cannot
    /// sign can tell which code is which group's.
    pub(super) fn new(key: &Key) -> Self {
        let mut derived = [0; 32];
        let expanded = Hkdf::<Sha256>::new(None, key.secret()).expand(b"group-id", &mut derived);
        debug_assert!(expanded.is_ok(), "32 bytes are within what HKDF can give");
        // HMAC fills a short key up with zeros to the hash's block of 64 bytes (RFC 2104)
        let mut block = [0; 64];
        block.split_at_mut(32).0.copy_from_slice(&derived);
        Self {
            mac: <Hmac<Sha256> as KeyInit>::new(&block.into()),
        }
    }

    pub(super) fn code(&self, service: &ServiceName, id: &GroupId) -> GroupCode {
        let mut mac = self.mac.clone();
        mac.update(service.as_str().as_bytes());
        mac.update(&[0]);
        mac.update(id.name().as_str().as_bytes());
        mac.update(&[0]);
        mac.update(id.generation().to_string().as_bytes());
        let digest: [u8; 32] = mac.finalize().into_bytes().into();
        let mut code = [0; 10];
        code.copy_from_slice(digest.split_at(10).0);
        GroupCode::new(code)
    }
}

/// Two groups of one rollout have the same code.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("group {0} has the same short id as another group")]
pub struct CodeCollision(pub GroupName);

/// The codes of all ids of a rollout under all keys of a ring.
#[derive(Clone, Debug, Default)]
pub struct GroupCodes {
    ids: HashMap<GroupCode, GroupId>,
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
