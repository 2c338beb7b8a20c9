//! The rules of commit affinity, without I/O.
//!
//! A session is *pinned* to the deployment group (all endpoints that run one commit) on which it
//! began. This crate holds the values ([`SessionPin`], [`Rollout`]), the rule ([`decide`]) and the
//! wire form of a pin ([`PinCodec`]). Time, randomness, the rollout snapshot and the view of what
//! is ready are arguments, so that the same rule runs in the layers, in the gateway and in tests.
//!
//! The modules are listed in reading order: each assumes only those before it.

pub mod analysis;
mod assign;
mod base64url;
mod clock;
mod decide;
mod experiment;
#[cfg(test)]
mod fixtures;
mod fleet;
mod group;
mod id;
mod pin;
mod policy;
mod present;
mod readiness;
mod rollout;
mod settle;
mod store;
mod time;
mod token;

pub use assign::{
    DrawKey, DrawSalt, MAX_BEARER, MAX_CLAIM, draw, draw_compatible, draw_least_loaded,
    endpoint_draw, endpoint_rank,
};
pub use clock::Clock;
pub use decide::{
    Absence, Cause, Cohort, Decision, Fault, Forwarding, Hinted, Inputs, Kind, Newer, NotTold,
    Outcome, Presented, Serving, Shown, Told, decide, hinted,
};
pub use experiment::{
    Arm, ArmCodes, ArmName, Experiment, ExperimentError, ExperimentName, ExperimentSet, Given,
    Joining, MAX_ARMS, MAX_CARRIED, MAX_EXPERIMENTS,
};
pub use fleet::{
    Acknowledged, Announced, Bounds, Digest, Engine, EngineError, EngineFuture, Fact, Fleet,
    GroupRecord, Left, LiveSketch, MAX_ADMIN, Meeting, Problem, ProblemKind, RecordError, Replaced,
    ReplicaRecord, SharedError, SharedState, Sketch, Standing, Stored, Version, contribution,
    lost_aborts, meet, obeyed, standings,
};
pub use group::{Abort, AbortPolicy, Group, InvalidWeight, State, Weight};
pub use id::{
    EndpointCode, EndpointId, GroupCode, GroupId, GroupName, InvalidName, Revision, ServiceName,
    SessionId,
};
pub use pin::{
    EndpointRef, GroupRef, LastMove, MoveCause, Outcomes, SessionPin, ToldCause, UnknownClaims,
};
pub use policy::{Level, Lifetimes, LifetimesError, OnGone, OnNavigation, OnStep, Policy};
pub use present::{Carrier, Chosen, MAX_CANDIDATES, choose, present};
pub use readiness::{AlwaysReady, GROUP_GRACE, Readiness, Ready};
pub use rollout::{
    AbortRequest, Change, DocumentError, Incompatible, MAX_COMPATIBLE, NewGroup, Refusal, Rollout,
    RolloutError, Status, TOMBSTONE_GRACE, Tombstone,
};
pub use settle::{Answer, Said, Settled, settle};
pub use store::{
    Admission, Breaker, BreakerChange, Claim, Counted, Live, LiveCounts, MAX_ROW, MemoryStore,
    NoCounts, PinStore, RowCodec, RowFault, RowKey, StoreCall, StoreError, Terms, is_current,
};
pub use time::Timestamp;
pub use token::{
    CodeCollision, ED25519_KEY, EndpointCodes, GroupCodes, HOP_LIFE, IdSecret, Key, KeyDigest,
    KeyError, KeyId, KeyKind, Keyring, MAX_ASYMMETRIC, MAX_HOP, MAX_KEYS, MAX_OVERRIDE, MAX_TOKEN,
    Opened, Opener, Override, PinCodec, PinVerifier, Sealed, VerifyingKeyring,
};
