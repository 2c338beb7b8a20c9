//! The verbs with their arguments, and what each makes of a rollout.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use tower_affinity::core::{
    AbortPolicy, AbortRequest, AlwaysReady, Change, GroupName, Lifetimes, Revision, Rollout,
    Timestamp, Weight,
};

use super::Failure;
use crate::settings;

/// How far the clocks of two processes may be apart.
pub(super) const SKEW: Duration = Duration::from_secs(5 * 60);

/// How long sessions stay under `--policy stay` unless it is said.
const STAY: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Print all groups with their states and weights
    Show,
    /// Write the file for the first time; the first group is stable
    Init(Init),
    /// Make a group known: staged, or with a weight active
    Register(Register),
    /// Give groups new weights; the others keep theirs
    Weights(Weights),
    /// Make a group stable with all the weight; the others drain
    Promote(Named),
    /// End new sessions for a group, its weight goes to the stable one; its sessions stay
    Drain(Named),
    /// Take a group out of use at once; its sessions move to another one
    Abort(Abort),
    /// Bring an aborted or retired group back as staged
    Restore(Named),
    /// Declare the processes of a drained group gone
    Retire(Retire),
    /// Refuse every change but an abort
    Lock,
    /// Accept changes again
    Unlock,
}

#[derive(Args, Debug)]
pub(super) struct Init {
    /// The groups and their weights, 0 to 10000, such as 9f1c2ab=90
    #[arg(value_name = "GROUP=N", required = true, value_parser = settings::group)]
    groups: Vec<(GroupName, Weight)>,
}

#[derive(Args, Debug)]
pub(super) struct Register {
    /// The group's name: the commit, an image digest or a build id
    #[arg(value_name = "GROUP")]
    group: GroupName,
    /// Its share of new sessions, 0 to 10000, relative to the others
    #[arg(long, value_name = "N", default_value = "0", value_parser = settings::weight)]
    weight: Weight,
}

#[derive(Args, Debug)]
pub(super) struct Weights {
    /// A group and its weight, 0 to 10000, such as c3d4e5f=10
    #[arg(value_name = "GROUP=N", required = true, value_parser = settings::group)]
    weights: Vec<(GroupName, Weight)>,
}

#[derive(Args, Debug)]
pub(super) struct Named {
    /// The group's name
    #[arg(value_name = "GROUP")]
    group: GroupName,
}

#[derive(Args, Debug)]
pub(super) struct Abort {
    /// The group's name
    #[arg(value_name = "GROUP")]
    group: GroupName,
    /// Where its sessions go [default: the stable group, or the last one that was stable]
    #[arg(long, value_name = "GROUP")]
    to: Option<GroupName>,
    /// What happens to its sessions [default: move]
    #[arg(long, value_enum)]
    policy: Option<Policy>,
    /// How long sessions may stay [default: 10m]
    #[arg(long, value_name = "DUR", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
}

#[derive(Args, Debug)]
pub(super) struct Retire {
    /// The group's name
    #[arg(value_name = "GROUP")]
    group: GroupName,
    /// Do it even if the group is not drained; what is left of its sessions moves
    #[arg(long)]
    force: bool,
}

/// What happens to the sessions of an aborted group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// Each moves once, with its next request
    Move,
    /// They stay until the deadline, then they move
    Stay,
    /// Each is ended with its next request
    End,
}

impl Verb {
    /// The rollout after the verb; the same one if there is nothing to change.
    pub(super) fn apply(&self, rollout: &Rollout, now: Timestamp) -> Result<Rollout, Failure> {
        let before = rollout.revision().0;
        let revision = before.checked_add(1).ok_or(Failure::Revision(before))?;
        let change = Change {
            revision: Revision(revision),
            now,
            max_age: Lifetimes::default().max_age(),
        };
        Ok(match self {
            Self::Show => rollout.clone(),
            Self::Init(init) => init.rollout(now)?,
            Self::Register(new) => rollout.register(&new.group, new.weight, change)?,
            Self::Weights(given) => rollout.weights(&given.each()?, change)?,
            Self::Promote(named) => rollout.promote(&named.group, change)?,
            Self::Drain(named) => rollout.drain(&named.group, change)?,
            Self::Abort(abort) => {
                let request = abort.request(now)?;
                // nobody here knows whose processes are healthy, and an abort must not wait for that
                rollout.abort(&abort.group, &request, &AlwaysReady, change)?
            }
            Self::Restore(named) => rollout.restore(&named.group, change)?,
            Self::Retire(retire) => {
                // nobody here knows the last pin, so it is as late as one can be
                let drained = rollout.drained_by(&retire.group, change.max_age, SKEW);
                rollout.retire(&retire.group, drained, retire.force, change)?
            }
            Self::Lock => rollout.lock(change),
            Self::Unlock => rollout.unlock(change),
        })
    }

    /// The group that was named, if it was one.
    pub(super) fn group(&self) -> Option<&GroupName> {
        match self {
            Self::Register(Register { group, .. })
            | Self::Promote(Named { group })
            | Self::Drain(Named { group })
            | Self::Abort(Abort { group, .. })
            | Self::Restore(Named { group })
            | Self::Retire(Retire { group, .. }) => Some(group),
            Self::Show | Self::Init(_) | Self::Weights(_) | Self::Lock | Self::Unlock => None,
        }
    }
}

impl Init {
    /// The first rollout.
    pub(super) fn rollout(&self, now: Timestamp) -> Result<Rollout, Failure> {
        settings::first_rollout(&self.groups, now).map_err(Failure::Groups)
    }
}

impl Weights {
    fn each(&self) -> Result<BTreeMap<GroupName, Weight>, Failure> {
        let mut each = BTreeMap::new();
        for (group, weight) in &self.weights {
            if each.insert(group.clone(), *weight).is_some() {
                return Err(Failure::Twice(group.clone()));
            }
        }
        Ok(each)
    }
}

impl Abort {
    fn request(&self, now: Timestamp) -> Result<AbortRequest, Failure> {
        let policy = match (self.policy, self.within) {
            (None | Some(Policy::Stay), Some(within)) => Some(stay(now, within)),
            (Some(Policy::Stay), None) => Some(stay(now, STAY)),
            (Some(Policy::Move | Policy::End), Some(_)) => return Err(Failure::Within),
            (Some(Policy::Move), None) => Some(AbortPolicy::Move),
            (Some(Policy::End), None) => Some(AbortPolicy::End),
            (None, None) => None,
        };
        Ok(AbortRequest {
            to: self.to.clone(),
            policy,
            force: false,
        })
    }
}

fn stay(now: Timestamp, within: Duration) -> AbortPolicy {
    AbortPolicy::Stay {
        until: now.plus(within),
    }
}
