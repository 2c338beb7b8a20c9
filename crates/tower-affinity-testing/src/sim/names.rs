//! The names, keys and lifetimes of every simulated service.

use std::sync::LazyLock;
use std::time::Duration;

use tower_affinity_core::{
    DrawSalt, GroupId, GroupName, Key, Keyring, Lifetimes, PinCodec, Rollout, ServiceName,
};

use crate::rollout::name;

/// A group as the model knows it: its number and its generation.
pub(super) type Id = (u8, u32);
/// Milliseconds since the epoch, by the one true clock that nobody in the world can read.
pub(super) type Millis = u64;

pub(super) const GROUPS: usize = 4;
pub(super) const TI: Duration = Duration::from_secs(30 * 60);
pub(super) const TA: Duration = Duration::from_secs(4 * 60 * 60);
pub(super) const SKEW: Duration = Duration::from_secs(5 * 60);

static NAMES: LazyLock<[GroupName; GROUPS]> =
    LazyLock::new(|| std::array::from_fn(|n| name(&format!("g{n}"))));

pub(super) fn name_of(group: u8) -> &'static GroupName {
    &NAMES[usize::from(group)]
}

/// The number in a group's name.
pub(super) fn number_of(name: &GroupName) -> u8 {
    name.as_str()
        .as_bytes()
        .get(1)
        .map_or(0, |digit| digit - b'0')
}

pub(super) fn id_of(id: &GroupId) -> Id {
    (number_of(id.name()), id.generation())
}

pub(super) fn lifetimes() -> Lifetimes {
    Lifetimes::new(TI, TA).expect("the lifetimes agree")
}

pub(super) fn salt() -> DrawSalt {
    DrawSalt::new(&service("checkout"))
}

/// The ring of a replica that has taken `epoch` steps of rotations. Two steps bring a new key: it
/// verifies, then it signs. A key verifies on for two rotations.
#[must_use]
pub fn keyring(epoch: usize) -> Keyring {
    let signs = epoch / 2;
    let joins = (epoch % 2 == 1).then_some(signs + 1);
    let leave = signs.saturating_sub(2)..signs;
    let keys = std::iter::once(signs).chain(joins).chain(leave.rev());
    ring_of(keys.map(|key| (key, 0)))
}

pub(super) fn codec(epoch: usize) -> PinCodec {
    PinCodec::new(service("checkout"), &keyring(epoch))
}

/// The codec of somebody who knows the key ids but not the keys.
#[must_use]
pub fn forger() -> PinCodec {
    codec_of("checkout", (0..16).map(|key| (key, 1)))
}

/// The codec of another service that has our keys.
pub(super) fn neighbour() -> PinCodec {
    codec_of("billing", std::iter::once((0, 0)))
}

/// The order number of the key that signs in `epoch`.
pub(super) fn signing_key(epoch: usize) -> usize {
    epoch / 2
}

fn service(text: &str) -> ServiceName {
    text.parse().expect("a service's name")
}

fn codec_of(name: &str, keys: impl Iterator<Item = (usize, u8)>) -> PinCodec {
    PinCodec::new(service(name), &ring_of(keys))
}

fn ring_of(keys: impl Iterator<Item = (usize, u8)>) -> Keyring {
    let keys = keys.map(|(key, owner)| {
        let seed = u8::try_from(key).unwrap_or_default() + 1 + owner * 100;
        let secret: Vec<u8> = (0..32).map(|n| seed.wrapping_mul(31) ^ n).collect();
        let id = format!("k{key}").parse().expect("a key's id");
        Key::hs256(id, &secret).expect("a key")
    });
    Keyring::new(keys).expect("a keyring")
}

/// All ids of a rollout, as the model knows them.
pub(super) fn ids_of(rollout: &Rollout) -> Vec<Id> {
    let mut ids: Vec<Id> = rollout.ids().map(id_of).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
