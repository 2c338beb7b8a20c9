//! What changes along with the rollout, or with the settings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tower_affinity::core::{
    Bounds, Digest, KeyError, KeyId, Lifetimes, PinCodec, ReplicaRecord, Rollout,
};

use super::digest::digest;
use super::discovered::sources_of;
use super::error::ControlError;
use super::store::Kept;
use super::verb::{Request, Verb};
use crate::config::{Analysis, Discovery, RollbackPolicy, ScopeSetting, Settings};

/// What changes along with the rollout, or with the settings.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) kept: Kept,
    pub(super) codec: Arc<PinCodec>,
    /// The key that signs.
    pub(super) signing: KeyId,
    pub(super) lifetimes: Lifetimes,
    pub(super) skew: Duration,
    pub(super) policy: RollbackPolicy,
    pub(super) within: Duration,
    pub(super) streams: Duration,
    pub(super) limits: Limits,
    pub(super) scopes: Vec<ScopeSetting>,
    /// How canaries are judged.
    pub(super) analysis: Analysis,
    /// The endpoints that the settings name.
    pub(super) configured: Endpoints,
    /// Where the endpoints of the other groups are found.
    pub(super) sources: BTreeMap<String, Discovery>,
    /// What was found there last; at first what was kept.
    pub(super) discovered: Endpoints,
    /// The digest of what all replicas should have alike.
    pub(super) config: Option<Digest>,
    /// What this replica said of itself when the present state came in force; `None` before it has
    /// served anything.
    pub(super) record: Option<ReplicaRecord>,
}

/// How many requests a group may have in flight, and the percent of these that are kept for those
/// that obey a pin, by its name.
pub(super) type Limits = BTreeMap<String, (u32, u8)>;

/// Addresses by the name of their group.
pub(super) type Endpoints = BTreeMap<String, Vec<SocketAddr>>;

impl Live {
    pub(super) fn of(settings: &Settings, kept: Kept) -> Result<Self, ControlError> {
        let limits = settings.groups.iter();
        let limits = limits
            .filter_map(|g| Some((g.name.to_string(), (g.max_in_flight?, g.reserve_percent))));
        let sources = sources_of(&settings.groups);
        let discovered = kept.endpoints.iter();
        let discovered =
            discovered.filter(|(name, list)| sources.contains_key(*name) && !list.is_empty());
        let discovered = discovered.map(|(name, list)| (name.clone(), list.clone()));
        let discovered = discovered.collect();
        let configured = settings.groups.iter().filter(|g| g.discovery.is_none());
        let configured = configured.map(|g| (g.name.to_string(), g.endpoints.clone()));
        let ring = settings.pin.keyring().map_err(ControlError::Keyring)?;
        let signing = settings.pin.keys.first();
        let signing = signing.ok_or(ControlError::Keyring(KeyError::Empty))?;
        Ok(Self {
            kept,
            signing: signing.id.clone(),
            codec: Arc::new(PinCodec::new(settings.service.clone(), &ring)),
            lifetimes: settings.pin.lifetimes,
            skew: settings.pin.clock_skew,
            policy: settings.rollback.policy,
            within: settings.rollback.within,
            streams: settings.rollback.streams,
            limits: limits.collect(),
            scopes: settings.scopes.clone(),
            analysis: settings.analysis.clone(),
            configured: configured.collect(),
            sources,
            discovered,
            config: digest(settings),
            record: None,
        })
    }

    /// The same replica with other settings.
    pub(super) fn with(&self, settings: &Settings, kept: Kept) -> Result<Self, ControlError> {
        Ok(Self {
            record: self.record.clone(),
            ..Self::of(settings, kept)?
        })
    }

    /// What bounds the wait for a draining group.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            max_age: self.lifetimes.max_age(),
            skew: self.skew,
            streams: self.streams,
        }
    }

    /// What is to be kept once a change is made that may be asked for now.
    pub(super) fn asked(&self, request: &Request, before: &Rollout) -> Result<Kept, ControlError> {
        if let Some(expected) = request.if_match
            && expected != before.revision()
            && !matches!(request.verb, Verb::Abort { .. })
        {
            return Err(ControlError::Stale {
                expected,
                now: before.revision(),
            });
        }
        request.verb.check(self.policy)?;
        let mut kept = self.kept.clone();
        if let Verb::Register {
            group, endpoints, ..
        } = &request.verb
        {
            kept.endpoints.insert(group.to_string(), endpoints.clone());
        }
        Ok(kept)
    }
}
