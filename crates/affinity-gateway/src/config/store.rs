//! `[store]`: where assignments are kept besides in pins.

use std::ops::RangeInclusive;
use std::time::Duration;

use tower_affinity::core::OnStep;
use tower_affinity::store::PATIENCE;
use tower_affinity::wire::AssignBy;

use super::dynamo::{self, DynamoSettings};
use super::field::Field;
use super::login::{self, Login};
use super::scope::ScopeSetting;
use super::section::Section;
use super::settings::Sources;
use super::span::Bounds;

/// Where assignments are kept besides in pins, and how long a request waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreSettings {
    /// What keeps them.
    pub kind: StoreKind,
    /// How long a request waits for an answer.
    pub timeout: Duration,
}

/// What keeps assignments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreKind {
    /// This process: what one replica keeps, others do not know.
    Memory {
        /// The most rows.
        capacity: usize,
    },
    /// Redis or Valkey.
    Redis(RedisSettings),
    /// Amazon DynamoDB.
    Dynamo(DynamoSettings),
}

/// How Redis is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisSettings {
    /// Where it is.
    pub servers: RedisServers,
    /// How the gateway logs in; `None` if it does not.
    pub login: Option<Login>,
}

/// Where Redis is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedisServers {
    /// One server.
    One(String),
    /// Some of the nodes of a cluster, which name the others.
    Cluster(Vec<String>),
}

impl StoreKind {
    const WORDS: [&'static str; 3] = ["memory", "redis", "dynamodb"];

    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::Redis(_) => "redis",
            Self::Dynamo(_) => "dynamodb",
        }
    }
}

pub(super) fn read(root: &Section<'_>, sources: &Sources<'_>) -> Option<StoreSettings> {
    let store = root.field("store")?.section();
    let words = StoreKind::WORDS.map(|word| (word, word));
    let kind = store.required("kind", KINDS);
    let kind = kind.and_then(|field| field.word(&words));
    let timeout = store
        .field("timeout")
        .and_then(|field| field.duration(&TIMEOUT));
    let kind = match kind {
        Some("memory") => memory(&store),
        Some("redis") => redis(&store, sources),
        Some(_) => dynamo::read(&store, sources),
        None => None,
    };
    if kind.is_some() {
        store.finish();
    }
    Some(StoreSettings {
        kind: kind?,
        timeout: timeout.unwrap_or(PATIENCE),
    })
}

fn memory(store: &Section<'_>) -> Option<StoreKind> {
    let capacity = store.field("capacity");
    let capacity = match capacity {
        Some(field) => field.integer(&CAPACITY)?,
        None => DEFAULT_CAPACITY,
    };
    let capacity = usize::try_from(capacity).ok()?;
    Some(StoreKind::Memory { capacity })
}

fn redis(store: &Section<'_>, sources: &Sources<'_>) -> Option<StoreKind> {
    let (servers, login) = (servers(store), login::read(store, sources));
    let servers = servers?;
    Some(StoreKind::Redis(RedisSettings { servers, login }))
}

fn servers(store: &Section<'_>) -> Option<RedisServers> {
    let (url, nodes) = (store.field("url"), store.field("cluster"));
    // who puts a password into an address finds it in no message
    let node = |field: Field<'_>| {
        field
            .unseen()
            .parsed(NODE, |text| url_of(text, "redis").then(|| text.to_owned()))
    };
    match (url, nodes) {
        (Some(url), None) => node(url).map(RedisServers::One),
        (None, Some(field)) => {
            let items = field.items(MOST_NODES, NODES)?;
            if items.is_empty() {
                field.refuse(format!("is empty; accepted: {NODES}"));
            }
            let nodes: Option<Vec<_>> = items.into_iter().map(node).collect();
            nodes.map(RedisServers::Cluster)
        }
        (Some(_), Some(_)) => {
            store.refuse(
                "cluster",
                "url is written too; accepted: one of url, cluster",
            );
            None
        }
        (None, None) => {
            store.missing("url", NODE);
            None
        }
    }
}

/// A scope that chooses by live sessions needs somebody who counts them.
pub(super) fn check(root: &Section<'_>, store: Option<&StoreSettings>, scopes: &[ScopeSetting]) {
    let by_load = |scope: &&ScopeSetting| scope.assign == AssignBy::LeastLoaded;
    let Some(scope) = scopes.iter().find(by_load) else {
        return;
    };
    let kind = store.map(|store| &store.kind);
    if let Some(StoreKind::Dynamo(dynamo)) = kind
        && dynamo.count_every.is_none()
    {
        root.refuse_whole(
            "scope",
            format!(
                "the scope \"{}\" has assign = \"least_loaded\", and the [store] in DynamoDB counts no \
                 live sessions; accepted: with store.count_every",
                scope.path
            ),
        );
    }
    if kind.is_none() {
        root.refuse_whole(
            "scope",
            format!(
                "the scope \"{}\" has assign = \"least_loaded\", which needs a [store] that counts \
                 live sessions; accepted: with one",
                scope.path
            ),
        );
    }
    if let Some(scope) = scopes
        .iter()
        .find(|scope| by_load(scope) && scope.on_step == OnStep::Reassign)
    {
        root.refuse_whole(
            "scope",
            format!(
                "the scope \"{}\" has assign = \"least_loaded\" and on_step = \"reassign\", but what \
                 is chosen by load cannot be drawn anew with the least movement; accepted: one of them",
                scope.path
            ),
        );
    }
}

/// The address of a server, with its port, and nothing behind it.
fn url_of(text: &str, scheme: &str) -> bool {
    let Ok(uri) = text.parse::<http::Uri>() else {
        return false;
    };
    let place = uri
        .authority()
        .is_some_and(|place| place.port().is_some() && !place.as_str().contains('@'));
    uri.scheme_str() == Some(scheme) && place && uri.path() == "/" && uri.query().is_none()
}

const KINDS: &str = "\"memory\", \"redis\", \"dynamodb\"";
const NODE: &str = "an address such as \"redis://127.0.0.1:6379\", without a password";
const NODES: &str = "an array of addresses such as \"redis://127.0.0.1:6379\", without passwords";
const MOST_NODES: usize = 64;
/// Longer than that, and it is not the store that serves a request.
const TIMEOUT: Bounds = Bounds::millis(1, 1_000);
const CAPACITY: RangeInclusive<u64> = 1..=100_000_000;
const DEFAULT_CAPACITY: u64 = 1_000_000;
