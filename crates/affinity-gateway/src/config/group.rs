//! `[[group]]`: the deployment groups, which together must be a valid rollout.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use tower_affinity::core::{GroupName, MAX_COMPATIBLE, Weight};

use super::Sources;
use super::discovery::{self, Discovery, MAX_ENDPOINTS};
use super::field::Field;
use super::listen::Listen;
use super::rollout;
use super::section::Section;
use super::upstream;
use crate::upstream::EndpointProtocol;

/// One deployment group as the file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupSetting {
    /// Its immutable name; unique.
    pub name: GroupName,
    /// Its share of new sessions; 0 unless it is active.
    pub weight: Weight,
    /// Whether it is the stable group; exactly one is, and it is active.
    pub stable: bool,
    /// Where it is in its life.
    pub state: GroupState,
    /// Its endpoints, each in one group only; at least one unless aborted or retired, and none if
    /// they are discovered.
    pub endpoints: Vec<SocketAddr>,
    /// Where its endpoints are found that are not listed.
    pub discovery: Option<Discovery>,
    /// How many requests may be in flight; `None`: no limit.
    pub max_in_flight: Option<u32>,
    /// What its endpoints speak; `None`: as `[upstream]` says.
    pub protocol: Option<EndpointProtocol>,
    /// How many percent of that only requests that obey a pin may use.
    pub reserve_percent: u8,
    /// The groups whose sessions it can serve too, where the level is `version`; never itself, each
    /// once, and none of them need be in the file.
    pub compatible_with: Vec<GroupName>,
}

/// Where a group is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// No new session, but it can be chosen by name.
    Staged,
    /// New sessions by weight.
    Active,
    /// No new session; pinned ones are served.
    Draining,
    /// Its sessions are moved.
    Aborted {
        /// Where they go: another group of the file, which is active.
        to: GroupName,
    },
    /// Its endpoints are gone.
    Retired,
}

impl GroupState {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Aborted { .. } => "aborted",
            Self::Retired => "retired",
        }
    }
}

pub(super) fn read(
    root: &Section<'_>,
    listen: &Listen,
    sources: &Sources<'_>,
) -> Vec<GroupSetting> {
    let sections = root.sections("group", MAX_GROUPS);
    if sections.is_empty() {
        root.missing("group", "at least one [[group]]");
    }
    let only = sections.len() == 1;
    let blocks: Vec<_> = sections
        .into_iter()
        .filter_map(|section| Block::read(section, only, sources))
        .collect();
    if root.is_clean() {
        rollout::check(root, &blocks, listen);
    }
    blocks.into_iter().map(|block| block.group).collect()
}

/// A group together with the places where it was written.
pub(super) struct Block<'a> {
    pub(super) group: GroupSetting,
    pub(super) section: Section<'a>,
    pub(super) endpoints: Vec<(Field<'a>, SocketAddr)>,
}

impl<'a> Block<'a> {
    fn read(section: Section<'a>, only: bool, sources: &Sources<'_>) -> Option<Self> {
        let name = section.required("name", "the group's name, such as a commit");
        let parsed = name.as_ref().and_then(named);
        let weight = section
            .field("weight")
            .and_then(|field| field.integer(&WEIGHTS));
        let weight = weight
            .or(only.then_some(1))
            .and_then(|weight| Weight::new(weight).ok());
        let stable = section.field("stable").and_then(|field| field.flag());
        let max_in_flight = section
            .field("max_in_flight")
            .and_then(|field| field.integer(&IN_FLIGHT));
        let protocol = section
            .field("protocol")
            .and_then(|field| upstream::protocol(&field));
        let reserve = section.field("reserve_percent");
        let reserve = reserve.and_then(|field| field.integer(&PERCENT));
        let state = state(&section);

        let discovery = discovery::read(&section, sources);
        let endpoints = section.field("endpoints");
        let items = endpoints
            .as_ref()
            .and_then(|field| field.items(MAX_ENDPOINTS, ENDPOINT));
        let items = items.unwrap_or_default();
        let endpoints: Vec<_> = items
            .into_iter()
            .filter_map(|item| Some((item.clone(), item.parsed(ENDPOINT, endpoint)?)))
            .collect();

        let compatible_with = section.field("compatible_with");
        let compatible_with = compatible_with.map(|field| compatible(&field, parsed.as_ref()));
        section.finish();
        let group = GroupSetting {
            name: parsed?,
            weight: weight.unwrap_or_default(),
            stable: stable.unwrap_or(only),
            state: state?,
            endpoints: endpoints.iter().map(|(_, address)| *address).collect(),
            discovery,
            max_in_flight: max_in_flight.and_then(|n| u32::try_from(n).ok()),
            protocol,
            reserve_percent: reserve
                .and_then(|n| u8::try_from(n).ok())
                .unwrap_or(RESERVE),
            compatible_with: compatible_with.unwrap_or_default(),
        };
        Some(Self {
            group,
            section,
            endpoints,
        })
    }
}

fn named(field: &Field<'_>) -> Option<GroupName> {
    let parsed = field
        .text("the group's name, such as a commit")?
        .parse::<GroupName>();
    parsed
        .inspect_err(|error| field.refuse(format!("accepted: {}", error.accepted())))
        .ok()
}

/// The groups whose sessions `own` can serve.
fn compatible(field: &Field<'_>, own: Option<&GroupName>) -> Vec<GroupName> {
    let mut names = Vec::new();
    for item in field
        .items(MAX_COMPATIBLE, "group names")
        .into_iter()
        .flatten()
    {
        let Some(name) = named(&item) else { continue };
        if own == Some(&name) {
            item.refuse("is the group itself; accepted: names of other groups");
        } else if names.contains(&name) {
            item.refuse("is named twice; accepted: each group once");
        } else {
            names.push(name);
        }
    }
    names
}

fn state(section: &Section<'_>) -> Option<GroupState> {
    // an aborted group is made from two keys
    let words = [
        ("staged", Some(GroupState::Staged)),
        ("active", Some(GroupState::Active)),
        ("draining", Some(GroupState::Draining)),
        ("aborted", None),
        ("retired", Some(GroupState::Retired)),
    ];
    let state = match section.field("state") {
        Some(field) => field.word(&words)?,
        None => Some(GroupState::Active),
    };
    let target = section.field("abort_to");
    match (state, &target) {
        (Some(state), None) => Some(state),
        (Some(_), Some(field)) => {
            field.refuse("is for aborted groups; accepted: together with state = \"aborted\"");
            None
        }
        (None, Some(field)) => named(field).map(|to| GroupState::Aborted { to }),
        (None, None) => {
            section.missing(
                "abort_to",
                "the active group that takes the sessions of this aborted one",
            );
            None
        }
    }
}

fn endpoint(text: &str) -> Option<SocketAddr> {
    text.parse().ok().filter(can_be_dialled)
}

/// Whether one server can be meant by it.
pub(crate) fn can_be_dialled(address: &SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let broadcast = ip == IpAddr::from([255, 255, 255, 255]);
    address.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && !broadcast
}

pub(super) const ENDPOINT: &str =
    "an IP address and a port, such as \"10.0.0.7:8080\" (a host name goes into dns)";
const MAX_GROUPS: usize = 64;
const WEIGHTS: RangeInclusive<u64> = 0..=Weight::MAX.get() as u64;
const PERCENT: RangeInclusive<u64> = 0..=100;
/// Enough that sessions go on while new ones are refused.
const RESERVE: u8 = 10;
const IN_FLIGHT: RangeInclusive<u64> = 1..=1_000_000;
