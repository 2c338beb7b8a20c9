//! The draw: which group a new session gets.
//!
//! Weighted rendezvous hashing: each group gets a uniform number `u` from a hash of the key and the
//! group's name, and the group with the smallest `-ln(u) / weight` wins. Such exponential races are
//! won in proportion to the weights, and raising one weight moves keys only to that group
//! (Schindelhauer and Schomaker, "Weighted distributed hash tables", SPAA 2005: the logarithmic
//! method).
//! Where sessions are counted, the less loaded of two such draws wins: see [`draw_least_loaded`].
//!
//! The logarithm is that of `libm` and not the platform's, so that all machines agree bit for bit.

mod claim;

use std::hash::Hasher;

use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher128};

pub use self::claim::{MAX_BEARER, MAX_CLAIM};
use crate::{
    EndpointId, Group, GroupName, Live, Readiness, Ready, Rollout, ServiceName, SessionId, State,
    Weight,
};

/// A constant of the service that separates its draws from those of others. It is no secret.
#[derive(Clone, Debug)]
pub struct DrawSalt {
    groups: SipHasher24,
    second: SipHasher24,
    keys: SipHasher128,
}

impl DrawSalt {
    /// The salt of a service.
    #[must_use]
    pub fn new(service: &ServiceName) -> Self {
        let (groups, keys) = (salt("group-draw", service), salt("draw-key", service));
        let second = salt("second-draw", service);
        Self {
            groups: SipHasher24::new_with_key(&groups),
            second: SipHasher24::new_with_key(&second),
            keys: SipHasher128::new_with_key(&keys),
        }
    }

    /// The draw's key for what a scope names, for example a user's id.
    #[must_use]
    pub fn key(&self, named: &[u8]) -> DrawKey {
        self.key_of("", named)
    }

    /// As [`DrawSalt::key`], of what came from `source`, which holds no zero byte: what a client puts
    /// into one place is never the key of what somebody else has put into another.
    #[must_use]
    pub fn key_of(&self, source: &str, named: &[u8]) -> DrawKey {
        let mut hasher = self.keys;
        if !source.is_empty() {
            hasher.write(source.as_bytes());
            hasher.write(&[0]);
        }
        hasher.write(named);
        DrawKey(hasher.finish128().as_u128())
    }
}

/// A uniform number in (0, 1) that depends on the salted key and the candidate's name only.
fn uniform(mut hasher: SipHasher24, key: DrawKey, name: &str) -> f64 {
    hasher.write(&key.0.to_be_bytes());
    hasher.write(name.as_bytes());
    // 53 bits fill a double's fraction; the half keeps it away from both ends
    ((hasher.finish() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// What the draw depends on besides the rollout: a session's id or a hash of what a scope names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DrawKey(u128);

impl DrawKey {
    /// The bits of the key.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }
}

impl From<SessionId> for DrawKey {
    fn from(session: SessionId) -> Self {
        Self(session.bits())
    }
}

/// Draws a group by weight among those that are active, have weight, and are ready here.
///
/// `None` if there is none: a group of weight 0 is never a spare.
#[must_use]
pub fn draw<'a>(
    salt: &DrawSalt,
    key: DrawKey,
    rollout: &'a Rollout,
    ready: &dyn Readiness,
) -> Option<&'a Group> {
    race(salt.groups, key, candidates(rollout, ready))
}

/// Draws the group that takes a session of `left` over, among those that are active, ready here,
/// and declare themselves able to serve it: by weight, and if none of them has any, the first by
/// name.
///
/// `None` if there is none.
#[must_use]
pub fn draw_compatible<'a>(
    salt: &DrawSalt,
    key: DrawKey,
    rollout: &'a Rollout,
    ready: &dyn Readiness,
    left: &GroupName,
) -> Option<&'a Group> {
    let able = || {
        rollout.groups().iter().filter(|group| {
            let active = matches!(group.state(), State::Active);
            let declares = || group.compatible_with().contains(left);
            active && declares() && ready.of(group.name()) == Ready::Yes
        })
    };
    let weighed = able().map(|group| (group, group.name().as_str(), group.weight()));
    let first = || able().min_by(|one, other| one.name().cmp(other.name()));
    race(salt.groups, key, weighed).or_else(first)
}

/// Draws twice, and takes the group that has fewer live sessions for its weight.
///
/// That is the power of two choices (Mitzenmacher, "The power of two choices in randomized load
/// balancing", IEEE TPDS 12, 2001). Both draws are by weight, and they may draw the same group: so a
/// count that is a moment old sends no herd to the emptiest group, and weight 0 stays exactly 0.
#[must_use]
pub fn draw_least_loaded<'a>(
    salt: &DrawSalt,
    key: DrawKey,
    rollout: &'a Rollout,
    ready: &dyn Readiness,
    live: &dyn Live,
) -> Option<&'a Group> {
    let first = race(salt.groups, key, candidates(rollout, ready))?;
    let second = race(salt.second, key, candidates(rollout, ready))?;
    // a / wa > b / wb, without a division
    let load = |group: &Group, other: &Group| {
        u128::from(live.of(group.id())) * u128::from(other.weight().get())
    };
    let is_busier = load(first, second) > load(second, first);
    Some(if is_busier { second } else { first })
}

/// The groups that a session can be drawn to, each with its name and weight.
fn candidates<'a>(
    rollout: &'a Rollout,
    ready: &dyn Readiness,
) -> impl Iterator<Item = (&'a Group, &'a str, Weight)> {
    let groups = rollout.groups().iter();
    let taking =
        groups.filter(|group| group.takes_new_sessions() && ready.of(group.name()) == Ready::Yes);
    taking.map(|group| (group, group.name().as_str(), group.weight()))
}

/// The candidate that `key` draws by weight; one of weight 0 never wins.
pub(crate) fn race<'a, T>(
    salt: SipHasher24,
    key: DrawKey,
    candidates: impl Iterator<Item = (&'a T, &'a str, Weight)>,
) -> Option<&'a T> {
    let mut best: Option<(f64, &str, &T)> = None;
    for (candidate, name, weight) in candidates {
        if weight.is_zero() {
            continue;
        }
        let score = -libm::log(uniform(salt, key, name)) / f64::from(weight.get());
        // equal scores are decided by name, so that the order of the candidates has no say
        let wins = best
            .is_none_or(|(least, winner, _)| score < least || (score == least && name < winner));
        if wins {
            best = Some((score, name, candidate));
        }
    }
    best.map(|(_, _, candidate)| candidate)
}

/// How much `endpoint` is preferred for `key` over others of its group: the greatest wins. It is
/// rendezvous hashing as in the draw of groups, with all weights equal and a salt of its own.
#[must_use]
pub fn endpoint_rank(key: DrawKey, endpoint: &EndpointId) -> impl Ord + use<> {
    let mut hasher = SipHasher24::new_with_key(ENDPOINT_SALT);
    hasher.write(&key.0.to_be_bytes());
    hasher.write(endpoint.as_str().as_bytes());
    hasher.finish()
}

/// Where a session's key falls for an endpoint that takes its share of sessions only, at least 0
/// and below 1: evenly spread, and independent of [`endpoint_rank`].
#[must_use]
pub fn endpoint_draw(key: DrawKey, endpoint: &EndpointId) -> f32 {
    let mut hasher = SipHasher24::new_with_key(SHARE_SALT);
    hasher.write(&key.0.to_be_bytes());
    hasher.write(endpoint.as_str().as_bytes());
    // as many bits as the number has, so that it is never rounded up to 1
    let bits = (hasher.finish() >> 40) as f32;
    bits / (1_u32 << 24) as f32
}

/// No service's name is in it: what is told apart are a session's choices, not those of services.
const ENDPOINT_SALT: &[u8; 16] = b"endpoint-choice/";
const SHARE_SALT: &[u8; 16] = b"endpoint-shares/";

fn salt(label: &str, service: &ServiceName) -> [u8; 16] {
    salt_of(label, service.as_str())
}

/// A salt for draws of one kind about `name`.
pub(crate) fn salt_of(label: &str, name: &str) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update(label.as_bytes());
    hash.update([0]);
    hash.update(name.as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let mut salt = [0; 16];
    salt.copy_from_slice(digest.split_at(16).0);
    salt
}

#[cfg(test)]
mod tests;
