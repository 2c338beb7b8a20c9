//! The gateway's configuration: text becomes [`Settings`], plain data that cannot be wrong.
//!
//! Two stages. `document` turns TOML into a tree of values that know their lines; `section` reads
//! typed values from it and collects every mistake. Each table has a module that knows its keys,
//! its defaults and the rules across them. Nothing is ignored: unknown keys, and keys that this
//! version does not support yet, are refused.
//!
//! [`watch`] says when the file may have changed; applying a change is not done here.

mod access_log;
mod analysis;
mod balance;
mod cookie;
mod discovery;
mod document;
mod dynamo;
mod effective;
mod endpoint_tls;
mod error;
mod experiment;
mod field;
mod group;
mod id_secret;
mod keys;
mod limits;
mod listen;
mod login;
mod pin;
mod retries;
mod rollback;
mod rollout;
mod scope;
mod secret;
mod section;
mod settings;
mod source;
mod span;
mod state;
mod store;
mod tls;
mod upstream;
mod watch;

pub use access_log::AccessLogSettings;
pub use analysis::Analysis;
pub use cookie::Cookie;
pub(crate) use discovery::MAX_ENDPOINTS;
pub use discovery::{Discovery, DnsName};
pub use dynamo::DynamoSettings;
pub use endpoint_tls::UpstreamTls;
pub use error::ConfigError;
pub(crate) use field::Field;
pub(crate) use group::can_be_dialled;
pub use group::{GroupSetting, GroupState};
pub use id_secret::IdSecretSetting;
pub use keys::KeySetting;
pub use listen::Listen;
pub use login::{Line, Login};
pub use pin::PinSettings;
pub use retries::Retries;
pub use rollback::{Rollback, RollbackPolicy};
pub(crate) use rollout::is_own;
pub use scope::ScopeSetting;
pub use secret::Secret;
pub(crate) use section::{Section, read_text};
use settings::Sources;
pub(crate) use settings::text_of;
pub use settings::{Settings, parse};
pub use source::KeySource;
pub(crate) use span::{Bounds, in_words};
pub use state::{EtcdSettings, StateSettings};
pub use store::{RedisServers, RedisSettings, StoreKind, StoreSettings};
pub use tls::{TicketKey, TlsSettings};
pub use upstream::{Health, Upstream};
pub(crate) use watch::watch_all;
pub use watch::{Watch, watch};

#[cfg(test)]
mod tests;
