//! The verbs of a rollout with their arguments.

use std::{net::SocketAddr, str::FromStr, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use thiserror::Error;
use tower_affinity::core::{GroupName, Weight};

use super::analyze::Analyze;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Print all groups with their states, weights and endpoints
    Show,
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
    /// Declare the endpoints of a drained group gone
    Retire(Retire),
    /// Send nothing new to one endpoint of a group; sessions that are bound to it stay
    DrainEndpoint(DrainEndpoint),
    /// Take a drained endpoint back
    UndrainEndpoint(UndrainEndpoint),
    /// Wait until no session of a group is left; exit code 3 if that takes too long
    Wait(Wait),
    /// Print what is known of the canaries, or wait for a verdict on them
    Analyze(Analyze),
    /// Refuse every change but an abort, edits of the configuration file too
    Lock(Seen),
    /// Accept changes again
    Unlock(Seen),
    /// Print the aborts that the asked replica obeys and the others may not know of, or drop one
    Facts(Facts),
    /// Print the replicas that share the rollout, and what is wrong with the asked one
    Replicas,
    /// End the wait for a replica that is gone for good, as `replicas` names it
    ForgetReplica(Gone),
}

/// The state on which a change was decided, and whether it is to be made.
#[derive(Args, Debug)]
pub(super) struct Seen {
    /// Only if the rollout has this revision, as `show` prints it (an abort ignores it)
    #[arg(long, value_name = "REVISION")]
    pub(super) if_match: Option<u64>,
    /// Print what would happen, and do nothing of it
    #[arg(long)]
    pub(super) preview: bool,
}

#[derive(Args, Debug)]
pub(super) struct Register {
    /// The group's name: the commit, an image digest or a build id
    #[arg(value_name = "GROUP")]
    pub(super) group: GroupName,
    /// The addresses of its endpoints
    #[arg(long = "endpoint", value_name = "ADDR", required = true, num_args = 1..)]
    pub(super) endpoints: Vec<SocketAddr>,
    /// Its share of new sessions, 0 to 10000, relative to the others
    #[arg(long, value_name = "N", default_value = "0", value_parser = weight)]
    pub(super) weight: Weight,
    /// Groups whose sessions it can serve, where the level is `version`
    #[arg(long = "compatible-with", value_name = "GROUP", num_args = 1..)]
    pub(super) compatible_with: Vec<GroupName>,
    #[command(flatten)]
    pub(super) seen: Seen,
}

#[derive(Args, Debug)]
pub(super) struct Weights {
    /// A group and its weight, 0 to 10000, such as c3d4e5f=10
    #[arg(value_name = "GROUP=N", required = true)]
    pub(super) weights: Vec<Share>,
    #[command(flatten)]
    pub(super) seen: Seen,
}

#[derive(Args, Debug)]
pub(super) struct Named {
    /// The group's name
    #[arg(value_name = "GROUP")]
    pub(super) group: GroupName,
    #[command(flatten)]
    pub(super) seen: Seen,
}

#[derive(Args, Debug)]
pub(super) struct Abort {
    /// The group's name
    #[arg(value_name = "GROUP")]
    pub(super) group: GroupName,
    /// Where its sessions go [default: the stable group, or the last one that was stable]
    #[arg(long, value_name = "GROUP")]
    pub(super) to: Option<GroupName>,
    /// What happens to its sessions [default: rollback.policy of the configuration]
    #[arg(long, value_enum)]
    pub(super) policy: Option<Policy>,
    /// How long sessions may stay, such as 10m [default: rollback.within of the configuration]
    #[arg(long, value_name = "DUR", value_parser = span)]
    pub(super) within: Option<Duration>,
    /// Do it even if the target has no ready endpoint
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) seen: Seen,
}

#[derive(Args, Debug)]
pub(super) struct Retire {
    /// The group's name
    #[arg(value_name = "GROUP")]
    pub(super) group: GroupName,
    /// Do it even if the group is not drained; what is left of its sessions moves
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) seen: Seen,
}

/// One endpoint of a group. Each gateway that is named with --admin is asked.
#[derive(Args, Debug)]
pub(super) struct OneEndpoint {
    /// The group's name
    #[arg(value_name = "GROUP")]
    pub(super) group: GroupName,
    /// Its address, as `GET /v1/groups/GROUP` shows it
    #[arg(value_name = "ADDRESS")]
    pub(super) address: SocketAddr,
    #[command(flatten)]
    pub(super) seen: Seen,
}

#[derive(Args, Debug)]
pub(super) struct DrainEndpoint {
    #[command(flatten)]
    pub(super) one: OneEndpoint,
    /// Do it even if no other endpoint of the group is ready
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Args, Debug)]
pub(super) struct UndrainEndpoint {
    #[command(flatten)]
    pub(super) one: OneEndpoint,
}

#[derive(Args, Debug)]
pub(super) struct Facts {
    #[command(subcommand)]
    pub(super) verb: Option<FactsVerb>,
}

#[derive(Debug, Subcommand)]
pub(super) enum FactsVerb {
    /// Forget the abort of a group: the shared state decides about its sessions again
    Drop(Dropped),
}

#[derive(Args, Debug)]
pub(super) struct Dropped {
    /// The group's name
    #[arg(value_name = "GROUP")]
    pub(super) group: GroupName,
}

#[derive(Args, Debug)]
pub(super) struct Gone {
    /// The replica's name
    #[arg(value_name = "REPLICA", value_parser = replica)]
    pub(super) replica: String,
}

#[derive(Args, Debug)]
pub(super) struct Wait {
    /// The group's name
    #[arg(value_name = "GROUP")]
    pub(super) group: GroupName,
    /// Until no pin to it can be valid and nothing is open
    #[arg(long, required = true)]
    drained: bool,
    /// How long at most, such as 30m [default: as long as it takes]
    #[arg(long, value_name = "DUR", value_parser = humantime::parse_duration)]
    pub(super) timeout: Option<Duration>,
}

/// What happens to the sessions of an aborted group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Policy {
    /// Each moves once, with its next request
    Move,
    /// They stay until the deadline, then they move
    Stay,
    /// Each is ended with its next request
    End,
}

/// `GROUP=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) group: GroupName,
    pub(super) weight: Weight,
}

#[derive(Debug, Error)]
pub(super) enum InvalidShare {
    #[error("accepted: GROUP=N, such as c3d4e5f=10")]
    Form,
    #[error(transparent)]
    Name(#[from] tower_affinity::core::InvalidName),
    #[error(transparent)]
    Weight(#[from] tower_affinity::core::InvalidWeight),
}

impl FromStr for Share {
    type Err = InvalidShare;

    fn from_str(text: &str) -> Result<Self, InvalidShare> {
        let (group, number) = text.split_once('=').ok_or(InvalidShare::Form)?;
        let (group, weight) = (group.parse()?, weight(number)?);
        Ok(Self { group, weight })
    }
}

#[derive(Debug, Error)]
#[error("accepted: a duration such as 10m or 90s")]
pub(super) struct InvalidSpan(#[source] humantime::DurationError);

pub(super) fn span(text: &str) -> Result<Duration, InvalidSpan> {
    humantime::parse_duration(text).map_err(InvalidSpan)
}

fn weight(text: &str) -> Result<Weight, tower_affinity::core::InvalidWeight> {
    // a number accepts a sign, a weight has none
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    Weight::new(number.unwrap_or(u64::MAX))
}

#[derive(Debug, Error)]
#[error("accepted: a name as `gateway rollout replicas` prints it")]
pub(super) struct InvalidReplica;

/// It becomes a part of a path.
fn replica(text: &str) -> Result<String, InvalidReplica> {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let named = text.bytes().any(|b| b.is_ascii_alphanumeric());
    let valid = named && text.len() <= 128 && text.bytes().all(inner);
    valid.then(|| text.to_owned()).ok_or(InvalidReplica)
}
