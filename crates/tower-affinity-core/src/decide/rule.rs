//! The rule itself, in the order in which it is tried.

use std::time::Duration;

use super::{
    Absence, Cause, Cohort, Decision, Hinted, Inputs, Kind, Newer, Outcome, Shown, hinted,
};
use crate::{
    Abort, AbortPolicy, DrawKey, Group, GroupId, GroupRef, Level, LiveCounts, MoveCause, OnGone,
    OnNavigation, OnStep, Policy, Readiness, Ready, Revision, Rollout, SessionPin, State, Status,
    draw, draw_least_loaded,
};

/// How long an unknown group in a pin above our revision is waited for before it counts as gone.
const BEHIND_BOUND: Duration = Duration::from_secs(10);

/// The wish for a state of at least this revision.
struct Behind(Revision);

/// Whether a session of `group` that its application lets go could leave now: the group drains,
/// and the stable one is ready.
pub(crate) fn may_release(rollout: &Rollout, ready: &dyn Readiness, group: &GroupId) -> bool {
    let draining = |group: &Group| matches!(group.state(), State::Draining { .. });
    matches!(rollout.status(group), Status::Serving(group) if draining(group))
        && ready.of(rollout.stable()) == Ready::Yes
}

/// Decides one request.
///
/// [`Outcome::Behind`] is answered only while `newer` is [`Newer::Unasked`].
#[must_use]
pub fn decide(inputs: &Inputs<'_>) -> Outcome {
    let mut decided = match inputs.policy {
        None => bypassed(Cause::None, inputs.default_group()),
        Some(policy) => match (policy.level, &inputs.presented.shown) {
            (Level::None, _) => bypassed(Cause::None, inputs.default_group()),
            (Level::Connection, _) => inputs.drawn_afresh(),
            (level, shown) if let Some(chosen) = &inputs.presented.chosen => {
                inputs.overridden(policy, level, chosen, shown)
            }
            (Level::Follow, shown) => bypassed(Cause::Follow, inputs.followed(shown)),
            (Level::Group | Level::Endpoint | Level::Version, Shown::Pin(pin)) => {
                match inputs.pinned(policy, pin) {
                    Ok(decision) => decision,
                    Err(Behind(revision)) => return Outcome::Behind(revision),
                }
            }
            (Level::Group | Level::Endpoint | Level::Version, Shown::Nothing(absence)) => {
                inputs.unpinned(policy, *absence)
            }
        },
    };
    if inputs.is_elsewhere(&decided) {
        decided.kind = Kind::Refused;
        decided.cause = Cause::NotServedHere;
        decided.issue = false;
    }
    Outcome::Decided(decided)
}

impl Inputs<'_> {
    fn drawn_afresh(&self) -> Decision {
        if !self.is_drawn() {
            return bypassed(Cause::Connection, self.default_group());
        }
        match self.draw((self.fresh)().into()) {
            Some(group) => bypassed(Cause::Connection, group.id().clone()),
            None => refused(Cause::NoReady, None),
        }
    }

    /// Level `follow`: never waits, refuses or writes. What the request itself names goes before
    /// what its client carries.
    fn followed(&self, shown: &Shown) -> GroupId {
        if let Some(name) = &self.presented.hint
            && let Hinted::Serves(id) = hinted(self.rollout, self.ready, name, self.now)
        {
            return id.clone();
        }
        if let Shown::Pin(pin) = shown
            && let Some(id) = pin.group.known()
        {
            match self.rollout.status(id) {
                Status::Aborted(abort) if !abort.stays(self.now) => {
                    return self.rollout.destination(abort);
                }
                Status::Serving(_) | Status::Aborted(_) if self.is_ready(id.name()) => {
                    return id.clone();
                }
                _ => {}
            }
        }
        self.default_group()
    }

    /// A request with a valid pin. `Err` is the wish for a newer state.
    fn pinned(&self, policy: &Policy, pin: &SessionPin) -> Result<Decision, Behind> {
        let above = pin.revision > self.rollout.revision();
        let id = match &pin.group {
            GroupRef::Known(id) => id,
            GroupRef::Unknown(_) => return self.unknown(policy, pin, above),
        };
        let group = match self.rollout.status(id) {
            // before every rule about revisions: what is known to be aborted is never served
            Status::Aborted(abort) => return Ok(self.aborted(policy, pin, id, abort)),
            // an id that is retired here never serves again: no newer state can tell more of it
            Status::Gone if self.rollout.ids().any(|known| known == id) => {
                return Ok(self.gone(policy, pin, Some(id.clone())));
            }
            Status::Gone => return self.unknown(policy, pin, above),
            Status::Serving(group) => group,
        };
        if above {
            return Ok(self.obeyed(policy, pin, id, Cause::Behind));
        }
        let lost = self.is_lost(id.name());
        if lost && let Some(to) = self.compatible(policy, pin) {
            return Ok(self.moved(policy, pin, to, MoveCause::Compatible));
        }
        if lost
            && policy.on_gone == OnGone::Move
            && let Some(to) = self.draw(self.key_of(pin))
        {
            return Ok(self.moved(policy, pin, to.id().clone(), MoveCause::GroupDown));
        }
        let waits = lost && policy.on_gone == OnGone::Strict;
        if self.may_go(policy, pin) && !waits && self.may_release(id) {
            let to = self.rollout.stable_id();
            return Ok(self.moved(policy, pin, to, MoveCause::Released));
        }
        if policy.on_step == OnStep::Reassign
            && !waits
            && let Some(to) = self.drawn_anew(pin, group)
        {
            return Ok(self.stepped(policy, pin, to));
        }
        let cause = match group.state() {
            State::Draining { .. } => Cause::Draining,
            _ => Cause::Ok,
        };
        Ok(self.obeyed(policy, pin, id, cause))
    }

    fn aborted(&self, policy: &Policy, pin: &SessionPin, id: &GroupId, abort: &Abort) -> Decision {
        if abort.stays(self.now) {
            if policy.on_gone == OnGone::Move && self.is_lost(id.name()) {
                let to = self.rollout.destination(abort);
                return self.moved(policy, pin, to, MoveCause::GroupDown);
            }
            return self.obeyed(policy, pin, id, Cause::AbortedStay);
        }
        if abort.policy == AbortPolicy::End {
            return self.refused_with(pin, Cause::AbortedEnd, Some(id.clone()));
        }
        let to = self.rollout.destination(abort);
        self.moved(policy, pin, to, MoveCause::Aborted)
    }

    /// A pin whose group nobody here knows.
    fn unknown(&self, policy: &Policy, pin: &SessionPin, above: bool) -> Result<Decision, Behind> {
        if above {
            match self.newer {
                Newer::Unasked => return Err(Behind(pin.revision)),
                Newer::Unproven { behind_since } if self.now.since(behind_since) < BEHIND_BOUND => {
                    return Ok(self.refused_with(pin, Cause::Behind, None));
                }
                Newer::Unproven { .. } | Newer::Proved => {}
            }
        }
        Ok(self.gone(policy, pin, None))
    }

    /// A pin whose group is retired, or proved to be unknown.
    fn gone(&self, policy: &Policy, pin: &SessionPin, group: Option<GroupId>) -> Decision {
        if let Some(to) = self.compatible(policy, pin) {
            return self.moved(policy, pin, to, MoveCause::Compatible);
        }
        if policy.on_gone == OnGone::Strict {
            return self.refused_with(pin, Cause::Gone, group);
        }
        match self.draw(self.key_of(pin)) {
            Some(to) => self.moved(policy, pin, to.id().clone(), MoveCause::Gone),
            None => self.refused_with(pin, Cause::NoReady, None),
        }
    }

    fn unpinned(&self, policy: &Policy, absence: Absence) -> Decision {
        let cause = absence.cause(self.presented.key.is_some());
        let without_session = |group: GroupId| Decision {
            kind: Kind::Assigned,
            cause,
            group: Some(group),
            pin: None,
            issue: false,
            cohort: Cohort::None,
            endpoint_key: None,
        };
        if absence == Absence::Preflight {
            return without_session(self.default_group());
        }
        let fresh = (self.fresh)();
        let drawn = match absence {
            // no session begins
            Absence::Withheld => self.is_drawn(),
            _ => self.draws_sessions(),
        };
        let group = if drawn {
            match self.draw_new(policy, self.presented.key.unwrap_or(fresh.into())) {
                Some(group) => group,
                None => return refused(Cause::NoReady, None),
            }
        } else {
            match self.drawn_here() {
                Some(group) => group,
                None => return without_session(self.default_group()),
            }
        };
        if absence == Absence::Withheld {
            return without_session(group.id().clone());
        }
        let revision = self.rollout.revision();
        let id = group.id().clone();
        let pin = SessionPin::new(fresh, id.clone(), revision, self.now, policy.lifetimes);
        self.with_pin(Kind::Assigned, cause, id, pin, true)
    }

    pub(super) fn obeyed(
        &self,
        policy: &Policy,
        pin: &SessionPin,
        id: &GroupId,
        cause: Cause,
    ) -> Decision {
        let revision = self.rollout.revision();
        // of a pin above our revision nothing is changed but its times
        let held = pin.released && pin.revision <= revision && !self.may_release(id);
        let lost = pin.revision <= revision && self.has_lost_endpoint(policy, pin, id);
        let issue = held || lost || pin.is_due(self.now, policy.lifetimes);
        let mut pin = if issue {
            pin.renewed(cause.reissued(pin, revision), self.now, policy.lifetimes)
        } else {
            pin.clone()
        };
        pin.released &= !held;
        let decision = self.with_pin(Kind::Pinned, cause, id.clone(), pin, issue);
        if lost {
            decision.endpoint_lost()
        } else {
            decision
        }
    }

    fn moved(&self, policy: &Policy, pin: &SessionPin, to: GroupId, cause: MoveCause) -> Decision {
        let revision = self.rollout.revision();
        let pin = pin.moved(to.clone(), cause, revision, self.now, policy.lifetimes);
        self.with_pin(Kind::Moved, cause.into(), to, pin, true)
    }

    pub(super) fn with_pin(
        &self,
        kind: Kind,
        cause: Cause,
        group: GroupId,
        pin: SessionPin,
        issue: bool,
    ) -> Decision {
        Decision {
            kind,
            cause,
            group: Some(group),
            cohort: Cohort::of(&pin, self.rollout.step_revision()),
            endpoint_key: self.endpoint_key(&pin),
            pin: Some(pin),
            issue,
        }
    }

    fn refused_with(&self, pin: &SessionPin, cause: Cause, group: Option<GroupId>) -> Decision {
        Decision {
            cohort: Cohort::of(pin, self.rollout.step_revision()),
            pin: Some(pin.clone()),
            ..refused(cause, group)
        }
    }

    fn draw(&self, key: DrawKey) -> Option<&Group> {
        draw(self.salt, key, self.rollout, self.ready)
    }

    /// Only sessions that begin go where the fewest live: one that has to move is sent to the same
    /// place by all replicas, however they count.
    fn draw_new(&self, policy: &Policy, key: DrawKey) -> Option<&Group> {
        match self.live {
            LiveCounts::Known(live) if policy.least_loaded => {
                draw_least_loaded(self.salt, key, self.rollout, self.ready, &**live)
            }
            _ => self.draw(key),
        }
    }

    /// A session that has to move is drawn by what its scope names, else by its id, so that all
    /// replicas send it to the same place.
    pub(super) fn key_of(&self, pin: &SessionPin) -> DrawKey {
        self.presented.key.unwrap_or(pin.session.into())
    }

    /// Whether a session may leave a group that drains: its application has let it go, or it is at
    /// a whole new page, which is as safe a point where the scope says so.
    fn may_go(&self, policy: &Policy, pin: &SessionPin) -> bool {
        let latest = policy.on_navigation == OnNavigation::Latest;
        pin.released || (latest && self.presented.page_load)
    }

    fn may_release(&self, id: &GroupId) -> bool {
        may_release(self.rollout, self.ready, id)
    }
}

pub(super) fn bypassed(cause: Cause, group: GroupId) -> Decision {
    Decision {
        kind: Kind::Bypassed,
        cause,
        group: Some(group),
        pin: None,
        issue: false,
        cohort: Cohort::None,
        endpoint_key: None,
    }
}

pub(super) fn refused(cause: Cause, group: Option<GroupId>) -> Decision {
    Decision {
        kind: Kind::Refused,
        cause,
        group,
        pin: None,
        issue: false,
        cohort: Cohort::None,
        endpoint_key: None,
    }
}
