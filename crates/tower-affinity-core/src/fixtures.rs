//! Names, rollouts and views that the tests of this crate share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod history;
pub(crate) mod statistics;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{
    AlwaysReady, Change, DrawKey, DrawSalt, EndpointId, EndpointRef, GroupId, GroupName, IdSecret,
    Key, Keyring, Lifetimes, Live, NewGroup, PinCodec, Readiness, Ready, Revision, Rollout,
    ServiceName, SessionId, Timestamp, Weight, draw,
};

/// The idle lifetime of every pin in the tests.
pub(crate) const TI: Duration = Duration::from_secs(30 * 60);
/// The whole lifetime of every session in the tests.
pub(crate) const TA: Duration = Duration::from_secs(4 * 60 * 60);
/// The moment at which a test begins, in seconds since the epoch.
pub(crate) const START: u64 = 1_800_000_000;

/// The moment that many seconds after the test's begin.
pub(crate) fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(START.checked_add_signed(secs).unwrap())
}

pub(crate) fn name(text: &str) -> GroupName {
    text.parse().unwrap()
}

pub(crate) fn id(text: &str, generation: u32) -> GroupId {
    GroupId::new(name(text), generation)
}

pub(crate) fn service(text: &str) -> ServiceName {
    text.parse().unwrap()
}

pub(crate) fn weight(weight: u64) -> Weight {
    Weight::new(weight).unwrap()
}

pub(crate) fn active(text: &str, share: u64) -> NewGroup {
    NewGroup::active(name(text), weight(share))
}

pub(crate) fn weights(shares: &[(&str, u64)]) -> BTreeMap<GroupName, Weight> {
    shares.iter().map(|(g, w)| (name(g), weight(*w))).collect()
}

pub(crate) fn lifetimes() -> Lifetimes {
    Lifetimes::new(TI, TA).unwrap()
}

/// The change that follows `rollout`, made at `now`.
pub(crate) fn after(rollout: &Rollout, now: Timestamp) -> Change {
    Change {
        revision: rollout.revision().next(),
        now,
        max_age: TA,
    }
}

/// Active groups, the first of them stable, under revision 10.
pub(crate) fn rollout(shares: &[(&str, u64)]) -> Rollout {
    let groups = shares.iter().enumerate().map(|(n, (group, share))| {
        let group = active(group, *share);
        if n == 0 { group.stable() } else { group }
    });
    Rollout::new(Revision(10), at(0), groups).unwrap()
}

pub(crate) fn salt() -> DrawSalt {
    DrawSalt::new(&service("checkout"))
}

pub(crate) fn session(bits: u128) -> SessionId {
    SessionId::from_random(bits)
}

/// A session id that the draw gives to `group` while all groups are ready.
pub(crate) fn drawn_to(rollout: &Rollout, group: &str) -> SessionId {
    (1..10_000)
        .map(|n| session(n * 0x9e37_79b9_7f4a_7c15))
        .find(|id| {
            let key = DrawKey::from(*id);
            draw(&salt(), key, rollout, &AlwaysReady).is_some_and(|g| g.name() == &name(group))
        })
        .expect("no id of ten thousand is drawn to the group")
}

pub(crate) fn endpoint(text: &str) -> EndpointId {
    EndpointId::new(text)
}

/// A view in which all groups are ready but those that are named, with the time since when, and
/// all endpoints but those that are lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    down: BTreeMap<GroupName, Timestamp>,
    lost: BTreeSet<EndpointId>,
}

impl View {
    pub(crate) fn down(groups: &[&str], since: Timestamp) -> Self {
        Self {
            down: groups.iter().map(|group| (name(group), since)).collect(),
            lost: BTreeSet::new(),
        }
    }

    pub(crate) fn lost(mut self, text: &str) -> Self {
        self.lost.insert(endpoint(text));
        self
    }
}

impl Readiness for View {
    fn of(&self, group: &GroupName) -> Ready {
        match self.down.get(group) {
            Some(since) => Ready::No { since: *since },
            None => Ready::Yes,
        }
    }

    fn has(&self, _: &GroupName, endpoint: &EndpointRef) -> bool {
        endpoint.known().is_some_and(|id| !self.lost.contains(id))
    }
}

/// The secret of [`key`].
pub(crate) fn secret(seed: u8) -> Vec<u8> {
    (0..32).map(|n| seed.wrapping_mul(31) ^ n).collect()
}

/// A key whose bytes follow from `seed`.
pub(crate) fn key(id: &str, seed: u8) -> Key {
    Key::hs256(id.parse().unwrap(), &secret(seed)).unwrap()
}

/// An Ed25519 key whose seed follows from `seed`.
pub(crate) fn ed25519(id: &str, seed: u8) -> Key {
    Key::ed25519(id.parse().unwrap(), &secret(seed)).unwrap()
}

/// The public half of a key.
pub(crate) fn public(key: &Key) -> Key {
    Key::ed25519_public(key.id().clone(), &key.public().unwrap()).unwrap()
}

/// The id secret of the tests.
pub(crate) fn ids() -> IdSecret {
    IdSecret::new(&secret(200)).unwrap()
}

pub(crate) fn codec(service_name: &str, keys: &[(&str, u8)]) -> PinCodec {
    let keys = keys.iter().map(|(id, seed)| key(id, *seed));
    PinCodec::new(service(service_name), &Keyring::new(keys).unwrap())
}

/// So many live sessions in each group, and none that is bound to an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted(pub(crate) BTreeMap<GroupId, u64>);

impl Live for Counted {
    fn of(&self, group: &GroupId) -> u64 {
        self.0.get(group).copied().unwrap_or(0)
    }

    fn at(&self, _: &GroupId, _: &EndpointId) -> u64 {
        0
    }
}
