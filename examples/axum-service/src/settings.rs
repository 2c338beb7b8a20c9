//! What the process is told by flags and by its environment.

use std::net::SocketAddr;

use clap::Parser;
use thiserror::Error;
use tower_affinity::core::{
    Clock, GroupName, InvalidName, InvalidWeight, NewGroup, Revision, Rollout, RolloutError, Weight,
};
use tower_affinity::{
    AffinityLayer, BuildError, CookieAttributes, Keyring, KeyringError, Rollouts, SystemClock,
};

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
    #[arg(long, env = "AFFINITY_GROUPS", value_delimiter = ',', required = true)]
    #[arg(value_name = "COMMIT=WEIGHT", value_parser = group)]
    pub groups: Vec<(GroupName, Weight)>,
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

    /// The rollout as the groups were given. Whatever feeds it later calls `Rollouts::update`.
    ///
    /// # Errors
    ///
    /// If the groups break a rule of a valid rollout.
    pub fn rollouts(&self) -> Result<Rollouts, SettingsError> {
        let now = SystemClock::new().now();
        let groups = self.groups.iter().enumerate().map(|(at, (name, weight))| {
            let group = NewGroup::active(name.clone(), *weight);
            if at == 0 { group.stable() } else { group }
        });
        // seconds since 1970: above the revisions of every earlier start
        let rollout = Rollout::new(Revision(now.as_secs()), now, groups)?;
        Ok(rollout.into())
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

/// A group that is not written as `COMMIT=WEIGHT`.
#[derive(Debug, Error)]
enum GroupError {
    #[error("a group is written as COMMIT=WEIGHT")]
    Form,
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("a weight is a whole number from 0 to 10000")]
    Number(#[from] std::num::ParseIntError),
    #[error(transparent)]
    Weight(#[from] InvalidWeight),
}

fn group(text: &str) -> Result<(GroupName, Weight), GroupError> {
    let (name, weight) = text.split_once('=').ok_or(GroupError::Form)?;
    Ok((name.parse()?, Weight::new(weight.parse()?)?))
}
