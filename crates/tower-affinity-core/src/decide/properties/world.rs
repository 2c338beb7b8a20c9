//! Random requests to a random replica.

use proptest::prelude::*;

use crate::fixtures::history::{NAMES, Reached, any_verb, group, play, play_four, steps};
use crate::fixtures::{View, endpoint, lifetimes, salt, session};
use crate::{
    Absence, Decision, EndpointRef, Fault, GroupCode, GroupId, GroupRef, Inputs, Level, LiveCounts,
    Newer, OnGone, OnNavigation, OnStep, Outcome, Policy, Presented, Revision, Rollout, Serving,
    SessionPin, Shown, Timestamp, decide,
};

/// What a replica is and what a client asks it.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) rollout: Rollout,
    pub(super) now: Timestamp,
    pub(super) policy: Policy,
    pub(super) down: Vec<String>,
    pub(super) down_for: u64,
    pub(super) fresh: u128,
    pub(super) page_load: bool,
}

pub(super) fn any_level() -> impl Strategy<Value = Level> {
    prop_oneof![
        1 => Just(Level::None),
        1 => Just(Level::Follow),
        1 => Just(Level::Connection),
        3 => Just(Level::Group),
        2 => Just(Level::Endpoint),
        2 => Just(Level::Version),
    ]
}

/// The levels at which any endpoint of a session's group serves it.
pub(super) fn any_wide_level() -> impl Strategy<Value = Level> {
    prop::sample::select(vec![Level::Group, Level::Version])
}

pub(super) fn any_absence() -> impl Strategy<Value = Absence> {
    prop_oneof![
        Just(Absence::New),
        Just(Absence::Preflight),
        Just(Absence::Withheld),
        any_fault().prop_map(Absence::Fault),
    ]
}

pub(super) fn any_fault() -> impl Strategy<Value = Fault> {
    prop::sample::select(vec![
        Fault::Malformed,
        Fault::WrongType,
        Fault::BadSignature,
        Fault::UnknownKey,
        Fault::WrongAudience,
        Fault::FromFuture,
        Fault::ExpiredIdle,
        Fault::ExpiredMax,
        Fault::Oversize,
        Fault::Duplicates,
    ])
}

impl World {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let rollout = prop_oneof![
            1 => steps(any_verb(), 16, 1800).prop_map(|steps| play(&steps).pop().unwrap()),
            2 => steps(any_verb(), 12, 1800).prop_map(|steps| play_four(&steps).pop().unwrap()),
        ];
        let policy = (any_level(), any::<(bool, bool, bool)>()).prop_map(
            |(level, (strict, keep, latest))| Policy {
                level,
                on_gone: if strict { OnGone::Strict } else { OnGone::Move },
                on_step: if keep { OnStep::Keep } else { OnStep::Reassign },
                on_navigation: if latest {
                    OnNavigation::Latest
                } else {
                    OnNavigation::Keep
                },
                least_loaded: false,
                lifetimes: lifetimes(),
            },
        );
        let down = prop::collection::vec(0..NAMES, 0..3);
        let chance = (any::<u128>(), any::<bool>());
        (rollout, policy, down, 0..30_u64, chance, 0..1000_u64).prop_map(
            |(Reached { rollout, now }, policy, down, down_for, (fresh, page_load), later)| Self {
                rollout,
                now: now.plus(std::time::Duration::from_secs(later)),
                policy,
                down: down.into_iter().map(|n| group(n).to_string()).collect(),
                down_for,
                fresh,
                page_load,
            },
        )
    }

    pub(super) fn at_level(mut self, level: Level) -> Self {
        self.policy.level = level;
        self
    }

    pub(super) fn on_step(mut self, on_step: OnStep) -> Self {
        self.policy.on_step = on_step;
        self
    }

    /// Whether a page load moves the session of a group that drains.
    pub(super) fn moves_on(&self) -> bool {
        self.page_load && self.policy.on_navigation == OnNavigation::Latest
    }

    /// Whether the request loads a whole page.
    pub(super) fn loads_page(self, page_load: bool) -> Self {
        Self { page_load, ..self }
    }

    pub(super) fn all_ready(mut self) -> Self {
        self.down.clear();
        self
    }

    pub(super) fn view(&self) -> View {
        let down: Vec<&str> = self.down.iter().map(String::as_str).collect();
        let since = self.now.as_millis() - self.down_for * 1000;
        View::down(&down, Timestamp::from_millis(since)).lost("gone")
    }

    pub(super) fn outcome(&self, shown: &Shown) -> Outcome {
        self.outcome_in(shown, None)
    }

    /// The answer of a process that is one of the groups.
    pub(super) fn outcome_in(&self, shown: &Shown, serving: Option<Serving<'_>>) -> Outcome {
        let presented = Presented {
            shown: shown.clone(),
            page_load: self.page_load,
            ..Presented::default()
        };
        decide(&Inputs {
            presented: &presented,
            policy: Some(&self.policy),
            rollout: &self.rollout,
            ready: &self.view(),
            live: &LiveCounts::Unknown,
            salt: &salt(),
            serving,
            now: self.now,
            fresh: &|| session(self.fresh),
            newer: Newer::Proved,
        })
    }

    pub(super) fn decision(&self, shown: &Shown) -> Decision {
        match self.outcome(shown) {
            Outcome::Decided(decision) => decision,
            Outcome::Behind(revision) => panic!("nobody to ask for {revision}"),
        }
    }

    /// A valid pin to `id`.
    pub(super) fn pin(&self, id: GroupId, revision: u64, age: u64) -> SessionPin {
        let issued = Timestamp::from_secs(self.now.as_secs() - age);
        let revision = Revision(revision);
        SessionPin::new(session(self.fresh ^ 1), id, revision, issued, lifetimes())
    }
}

/// A pin as a client of that world may hold it: to any id that the replica knows, or to one that
/// it does not; older or newer than its state; of any age.
#[derive(Clone, Debug)]
pub(super) struct Held {
    id: prop::sample::Index,
    unknown: bool,
    revision: u64,
    age: u64,
    moves: u32,
    released: bool,
    endpoint: Option<bool>,
}

impl Held {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let id = any::<prop::sample::Index>();
        let unknown = prop::bool::weighted(0.1);
        let times = (5..40_u64, 0..1700_u64);
        let released = prop::bool::weighted(0.3);
        let endpoint = prop::option::of(any::<bool>());
        (id, unknown, times, 0..3_u32, released, endpoint).prop_map(
            |(id, unknown, (revision, age), moves, released, endpoint)| Self {
                id,
                unknown,
                revision,
                age,
                moves,
                released,
                endpoint,
            },
        )
    }

    /// Whether its application has let the session go.
    pub(super) fn released(self, released: bool) -> Self {
        Self { released, ..self }
    }

    pub(super) fn is_released(&self) -> bool {
        self.released
    }

    pub(super) fn in_world(&self, world: &World) -> SessionPin {
        let ids: Vec<GroupId> = world.rollout.ids().cloned().collect();
        let pin = world.pin(self.id.get(&ids).clone(), self.revision, self.age);
        SessionPin {
            group: if self.unknown {
                GroupRef::Unknown(GroupCode::new([9; 10]))
            } else {
                pin.group.clone()
            },
            moves: self.moves,
            placed: self.moves > 0,
            released: self.released,
            endpoint: self.endpoint.map(|lives| {
                let name = if lives { "lives" } else { "gone" };
                EndpointRef::Known(endpoint(name))
            }),
            ..pin
        }
    }
}

pub(super) fn shown(pin: SessionPin) -> Shown {
    Shown::Pin(Box::new(pin))
}
