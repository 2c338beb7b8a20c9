//! The codes of groups that pins are made with, remembered.

use std::sync::{PoisonError, RwLock};

use super::code::Coder;
use crate::{EndpointCode, EndpointId, GroupCode, GroupId, ServiceName};

/// More groups than a rollout holds. What has been made for others is forgotten then.
const MOST: usize = 256;

/// The [`Coder`] of the key that signs. Every pin that is sealed names a group, of which there are
/// few: its code is a hash that takes half as long as the signature.
pub(super) struct Coded {
    coder: Coder,
    groups: RwLock<Vec<(GroupId, GroupCode)>>,
}

impl Coded {
    pub(super) fn new(coder: Coder) -> Self {
        Self {
            coder,
            groups: RwLock::default(),
        }
    }

    /// The code of a group; always asked of the same service.
    pub(super) fn group(&self, service: &ServiceName, id: &GroupId) -> GroupCode {
        let known = self.groups.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, code)) = known.iter().find(|(known, _)| known == id) {
            return *code;
        }
        drop(known);
        let code = self.coder.group(service, id);
        let mut known = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.push((id.clone(), code));
        code
    }

    pub(super) fn endpoint(
        &self,
        service: &ServiceName,
        id: &GroupId,
        endpoint: &EndpointId,
    ) -> EndpointCode {
        self.coder.endpoint(service, id, endpoint)
    }
}
