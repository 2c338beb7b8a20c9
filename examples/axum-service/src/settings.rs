//! What the process is told by flags and by its environment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Parser;
use thiserror::Error;
use tower_affinity::core::{
    Clock, GroupName, InvalidName, InvalidWeight, NewGroup, Revision, Rollout, RolloutError,
    Timestamp, Weight,
};
use tower_affinity::files::{FileError, PeersFile, RolloutFile};
use tower_affinity::peers::PeersError;
use tower_affinity::{
    AffinityLayer, BuildError, CookieAttributes, Groups, Keyring, KeyringError, PeerForwardLayer,
    Rollouts, SystemClock,
};

use crate::forward::{ConnectOver, pool};

/// The audience of the pins and part of the cookie's name.
const SERVICE: &str = "checkout";

/// The environment variable that holds the keys: they are secret, so there is no flag for them.
const KEYS: &str = "AFFINITY_KEYS";

/// A flow of several steps whose sessions stay on their commit.
///
/// AFFINITY_KEYS must hold the keys of the pins, as id:base64url separated by commas.
#[derive(Clone, Debug, Parser)]
#[command(name = "axum-service", version)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:3000")]
    pub listen: SocketAddr,
    /// The commit that this process is; without it the process serves all groups.
    #[arg(long, env = "COMMIT")]
    pub commit: Option<GroupName>,
    /// The groups of the rollout with their weights; the first one is stable.
    #[arg(long, env = "AFFINITY_GROUPS", value_delimiter = ',')]
    #[arg(required_unless_present_any = ["rollout", "demo"])]
    #[arg(value_name = "COMMIT=WEIGHT", value_parser = group)]
    pub groups: Vec<(GroupName, Weight)>,
    /// A file with the rollout, which is followed; instead of --groups.
    #[arg(
        long,
        env = "AFFINITY_ROLLOUT",
        value_name = "FILE",
        conflicts_with = "groups"
    )]
    pub rollout: Option<PathBuf>,
    /// A file with the addresses of all commits' processes, which is followed: requests of other
    /// commits are forwarded to them.
    #[arg(long, env = "AFFINITY_PEERS", value_name = "FILE", requires = "commit")]
    pub peers: Option<PathBuf>,
    /// Draw new sessions by the weights, whichever process they reach; by default they stay where the
    /// balancer has put them.
    #[arg(long, requires = "peers")]
    pub by_weight: bool,
    /// Show a rollout and an abort with three processes of two commits, and end.
    #[arg(long)]
    pub demo: bool,
    /// One line of JSON at the end of the demo, and nothing else.
    #[arg(long, requires = "demo")]
    pub json: bool,
    /// Set a cookie that also travels over plain HTTP, for development.
    #[arg(long)]
    pub plain_http: bool,
}

/// What the service cannot start with.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The keys are not there or cannot be used.
    #[error(
        "{KEYS} holds no keys for the pins; make one:\n    \
         export {KEYS}=\"2026-11:$(cargo run -q -p gateway -- keys new)\""
    )]
    Keys(#[source] KeyringError),
    /// The groups do not make a rollout.
    #[error("the groups do not make a rollout")]
    Groups(#[from] RolloutError),
    /// A file that is followed cannot be used.
    #[error("the file {0:?} cannot be used")]
    File(PathBuf, #[source] FileError),
    /// Requests cannot be forwarded.
    #[error("requests cannot be forwarded to peers")]
    Peers(#[from] PeersError),
    /// The service's name has not the form of one.
    #[error("the service {SERVICE:?} cannot be used")]
    Service(#[from] InvalidName),
    /// The layer cannot be built.
    #[error("the affinity layer cannot be built")]
    Layer(#[from] BuildError),
}

impl Settings {
    /// The keys of the environment.
    ///
    /// # Errors
    ///
    /// If there are none, or they cannot be used.
    pub fn keyring(&self) -> Result<Keyring, SettingsError> {
        Keyring::from_env(KEYS).map_err(SettingsError::Keys)
    }

    /// The rollout as its file says, or as the groups were given. Whatever feeds that later calls
    /// `Rollouts::update`.
    ///
    /// # Errors
    ///
    /// If the file or the groups hold no valid rollout.
    ///
    /// # Panics
    ///
    /// With a file, outside of a tokio runtime.
    pub fn rollouts(&self) -> Result<Rollouts, SettingsError> {
        if let Some(path) = &self.rollout {
            let followed = RolloutFile::new(path).follow();
            return followed.map_err(|error| SettingsError::File(path.clone(), error));
        }
        Ok(first_rollout(&self.groups, SystemClock::new().now())?.into())
    }

    /// The layer.
    ///
    /// # Errors
    ///
    /// If it cannot be built from these settings.
    pub fn affinity(
        &self,
        keyring: Keyring,
        rollouts: Rollouts,
    ) -> Result<AffinityLayer, SettingsError> {
        let cookie = CookieAttributes::new(&SERVICE.parse()?, !self.plain_http);
        let mut layer = AffinityLayer::builder()
            .keyring(keyring)
            .service(SERVICE)
            .rollout(rollouts)
            .cookie(cookie);
        if let Some(commit) = &self.commit {
            layer = layer.serving(commit.clone());
        }
        Ok(layer.build()?)
    }
}

/// What is needed to forward to the peers that a file lists.
///
/// # Errors
///
/// If the file cannot be used, or `affinity` does not say which commit this process is.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn forwarding(
    affinity: AffinityLayer,
    peers: &Path,
) -> Result<PeerForwardLayer<ConnectOver>, SettingsError> {
    let groups = Groups::default();
    let followed = PeersFile::new(peers).follow(&groups);
    followed.map_err(|error| SettingsError::File(peers.to_owned(), error))?;
    Ok(PeerForwardLayer::new(
        affinity,
        groups,
        ConnectOver::new(pool()),
    )?)
}

/// The rollout with these groups, as it begins; the first one is stable.
pub(crate) fn first_rollout(
    groups: &[(GroupName, Weight)],
    now: Timestamp,
) -> Result<Rollout, RolloutError> {
    let groups = groups.iter().enumerate().map(|(at, (name, weight))| {
        let group = NewGroup::active(name.clone(), *weight);
        if at == 0 { group.stable() } else { group }
    });
    // seconds since 1970: above the revisions of every earlier start
    Rollout::new(Revision(now.as_secs()), now, groups)
}

/// A group that is not written as `COMMIT=WEIGHT`.
#[derive(Debug, Error)]
pub(crate) enum GroupError {
    #[error("a group is written as COMMIT=WEIGHT")]
    Form,
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Weight(#[from] InvalidWeight),
}

/// `COMMIT=WEIGHT`.
pub(crate) fn group(text: &str) -> Result<(GroupName, Weight), GroupError> {
    let (name, number) = text.split_once('=').ok_or(GroupError::Form)?;
    Ok((name.parse()?, weight(number)?))
}

/// A weight as digits: a number accepts a sign, a weight has none.
pub(crate) fn weight(text: &str) -> Result<Weight, InvalidWeight> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    Weight::new(number.unwrap_or(u64::MAX))
}
