//! `[state]`: where the rollout is kept.

use std::path::PathBuf;
use std::time::Duration;

use tower_affinity::core::ServiceName;

use super::Sources;
use super::section::Section;

/// Where the rollout and its facts are kept over a restart, and shared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateSettings {
    /// The state file, as an absolute path.
    pub file: PathBuf,
    /// Where replicas share their state; `None` for the only one.
    pub etcd: Option<EtcdSettings>,
}

/// The etcd through which replicas share their state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EtcdSettings {
    /// Its members, 1 to 16, such as `http://127.0.0.1:2379`.
    pub endpoints: Vec<String>,
    /// What every key of the service begins with.
    pub prefix: String,
}

impl StateSettings {
    /// How far the clocks of replicas may differ unless `pin.clock_skew` says it.
    pub(super) fn default_skew(&self) -> Duration {
        match self.etcd {
            Some(_) => Duration::from_secs(300),
            None => Duration::ZERO,
        }
    }
}

pub(super) fn read(
    state: &Section<'_>,
    service: Option<&ServiceName>,
    sources: &Sources<'_>,
) -> StateSettings {
    let file = state
        .field("file")
        .and_then(|field| sources.field_path(&field));
    let prefix = state.field("prefix");
    let members = state.field("etcd").and_then(|field| {
        let items = field.items(MOST_MEMBERS, MEMBER)?;
        if items.is_empty() {
            field.refuse(format!("accepted: an array of {MEMBER}"));
        }
        let member = |text: &str| is_member(text).then(|| text.to_owned());
        // who puts a password into an address finds it in no message
        let members = items
            .into_iter()
            .map(|item| item.unseen().parsed(MEMBER, member));
        members.collect::<Option<Vec<_>>>()
    });
    if let Some(prefix) = &prefix
        && members.is_none()
        && state.is_clean()
    {
        prefix.refuse("is the place in etcd; name its members with state.etcd");
    }
    let prefix = match &prefix {
        Some(field) => field.parsed(PREFIX, |text| is_prefix(text).then(|| text.to_owned())),
        None => service.map(|service| format!("/affinity/{service}")),
    };
    state.finish();
    StateSettings {
        file: file.unwrap_or_else(|| sources.path("gateway-state.json".as_ref())),
        etcd: members
            .zip(prefix)
            .map(|(endpoints, prefix)| EtcdSettings { endpoints, prefix }),
    }
}

const MOST_MEMBERS: usize = 16;
const MEMBER: &str = "addresses of etcd's members, such as \"http://127.0.0.1:2379\" (no https)";
const PREFIX: &str = "/ and 1 to 254 of A-Z a-z 0-9 - _ . /, without / at its end";

/// Whether it is the address of a server with its port, and nothing behind that. There is no TLS to
/// etcd in this version.
fn is_member(text: &str) -> bool {
    let Ok(uri) = text.parse::<http::Uri>() else {
        return false;
    };
    let scheme = uri.scheme_str() == Some("http") && uri.port().is_some();
    let place = uri
        .authority()
        .is_some_and(|place| !place.as_str().contains('@'));
    scheme && place && uri.path() == "/" && uri.query().is_none()
}

fn is_prefix(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    (2..=255).contains(&text.len())
        && text.starts_with('/')
        && !text.ends_with('/')
        && text.bytes().all(inner)
}
