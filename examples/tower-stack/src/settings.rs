//! What the gateway is told by flags and by its environment.

use std::net::{AddrParseError, SocketAddr};

use clap::Parser;
use thiserror::Error;
use tower_affinity::core::{
    Clock, GroupName, InvalidName, InvalidWeight, NewGroup, Revision, Rollout, RolloutError, Weight,
};
use tower_affinity::{
    AffinityLayer, BuildError, CookieAttributes, Groups, Keyring, KeyringError, SystemClock,
};

/// The audience of the pins and part of the cookie's name.
const SERVICE: &str = "checkout";

/// The environment variable that holds the keys: they are secret, so there is no flag for them.
const KEYS: &str = "AFFINITY_KEYS";

/// A gateway whose sessions stay on their commit.
///
/// AFFINITY_KEYS must hold the keys of the pins, as id:base64url separated by commas.
#[derive(Clone, Debug, Parser)]
#[command(name = "tower-stack", version)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// A group with its weight and endpoints; repeated, the first one is stable.
    #[arg(long = "group", required = true)]
    #[arg(value_name = "COMMIT=WEIGHT@ADDRESS+ADDRESS…", value_parser = group)]
    pub groups: Vec<GroupSetting>,
    /// Set a cookie that also travels over plain HTTP, for development.
    #[arg(long)]
    pub plain_http: bool,
}

/// One group.
#[derive(Clone, Debug)]
pub struct GroupSetting {
    name: GroupName,
    weight: Weight,
    endpoints: Vec<SocketAddr>,
}

/// What the gateway cannot start with.
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
    /// The endpoints of all groups. Whatever discovers endpoints later calls `Groups::update`.
    #[must_use]
    pub fn endpoints(&self) -> Groups {
        let groups = Groups::default();
        for group in &self.groups {
            groups.update(&group.name, group.endpoints.iter().copied());
        }
        groups
    }

    /// The layer, with the keys of the environment.
    ///
    /// # Errors
    ///
    /// If there are no keys, or if it cannot be built from these settings.
    pub fn affinity(&self, groups: &Groups) -> Result<AffinityLayer, SettingsError> {
        let keyring = Keyring::from_env(KEYS).map_err(SettingsError::Keys)?;
        let now = SystemClock::new().now();
        let rollout = self.groups.iter().enumerate().map(|(at, group)| {
            let new = NewGroup::active(group.name.clone(), group.weight);
            if at == 0 { new.stable() } else { new }
        });
        // seconds since 1970: above the revisions of every earlier start
        let rollout = Rollout::new(Revision(now.as_secs()), now, rollout)?;
        Ok(AffinityLayer::builder()
            .keyring(keyring)
            .service(SERVICE)
            .rollout(rollout)
            .readiness(groups.clone())
            .cookie(CookieAttributes::new(&SERVICE.parse()?, !self.plain_http))
            .build()?)
    }
}

/// A group that is not written as it should be.
#[derive(Debug, Error)]
enum GroupError {
    #[error("a group is written as COMMIT=WEIGHT@ADDRESS+ADDRESS…")]
    Form,
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("a weight is a whole number from 0 to 10000")]
    Number(#[from] std::num::ParseIntError),
    #[error(transparent)]
    Weight(#[from] InvalidWeight),
    #[error("an address is an IP address and a port")]
    Address(#[from] AddrParseError),
}

fn group(text: &str) -> Result<GroupSetting, GroupError> {
    let (name, rest) = text.split_once('=').ok_or(GroupError::Form)?;
    let (weight, addresses) = rest.split_once('@').ok_or(GroupError::Form)?;
    let addresses = addresses.split('+').map(str::parse);
    Ok(GroupSetting {
        name: name.parse()?,
        weight: Weight::new(weight.parse()?)?,
        endpoints: addresses.collect::<Result<_, _>>()?,
    })
}
