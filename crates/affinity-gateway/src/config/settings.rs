//! The second stage: all settings together, checked.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tower_affinity::core::{Lifetimes, ServiceName};
use tower_affinity::experiments::Experiments;

use super::access_log::{self, AccessLogSettings};
use super::analysis::{self, Analysis};
use super::document::MAX_BYTES;
use super::effective;
use super::error::ConfigError;
use super::experiment;
use super::field::Field;
use super::group::{self, GroupSetting};
use super::listen::{self, Listen};
use super::pin::{self, PinSettings};
use super::rollback::{self, Rollback};
use super::scope::{self, ScopeSetting};
use super::section::{Section, read_text};
use super::state::{self, StateSettings};
use super::store::{self, StoreSettings};
use super::upstream::{self, Upstream};

/// Everything that the file says, checked, with the defaults filled in.
///
/// Two files that mean the same are equal, whatever their order and whether defaults are written.
/// `Debug` shows no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The audience of the pins.
    pub service: ServiceName,
    /// Where the gateway listens.
    pub listen: Listen,
    /// How pins are signed and carried, and how long they live.
    pub pin: PinSettings,
    /// How endpoints are dialled and watched.
    pub upstream: Upstream,
    /// The deployment groups, 1 to 64, in the order of the file; together a valid rollout.
    pub groups: Vec<GroupSetting>,
    /// The scopes in the order in which they are tried, at least one.
    pub scopes: Vec<ScopeSetting>,
    /// What sessions take part in beside their group.
    pub experiments: Experiments,
    /// What an abort does unless it says otherwise.
    pub rollback: Rollback,
    /// Where the rollout is kept over a restart.
    pub state: StateSettings,
    /// Where assignments are kept besides in pins; `None` for nowhere.
    pub store: Option<StoreSettings>,
    /// Where a line for each request goes; `None` for nowhere.
    pub access_log: Option<AccessLogSettings>,
    /// What is held against the sessions of a group.
    pub analysis: Analysis,
}

impl Settings {
    /// Reads and checks the file; relative paths in it start at its directory.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is longer than 1 MiB, or breaks a rule.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = text_of(path, "--config")?;
        let base_dir = path.parent().unwrap_or(Path::new("."));
        parse(&text, base_dir, &|name| std::env::var(name).ok()).map_err(|error| error.file(path))
    }

    /// The settings as TOML, with every default written out and keys shown by id and source only;
    /// it parses to equal settings.
    #[must_use]
    pub fn effective(&self) -> String {
        effective::write(self)
    }
}

/// The text of a file that an option names, or a little more than can be read of it.
pub(crate) fn text_of(path: &Path, option: &str) -> Result<String, ConfigError> {
    let unreadable = |error: std::io::Error| {
        ConfigError::new(format!("cannot be read: {error}"))
            .key(option)
            .file(path)
    };
    let mut text = String::new();
    let limit = MAX_BYTES as u64 + 1;
    let file = File::open(path).map_err(unreadable)?;
    file.take(limit)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}

/// Parses and checks the text of a configuration file.
///
/// `base_dir` is where relative paths start; `env` answers environment variables. Nothing else is
/// read but the key files that the text names and whether the admin token file is there.
///
/// # Errors
///
/// The first mistake in the order of the lines, and how many more there are.
pub fn parse(
    text: &str,
    base_dir: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, ConfigError> {
    let base_dir = std::path::absolute(if base_dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        base_dir
    });
    let base_dir = base_dir.map_err(|error| ConfigError::new(error).key("--config"))?;
    if base_dir.to_str().is_none() {
        return Err(ConfigError::new("the directory of the file is not UTF-8").key("--config"));
    }
    let sources = Sources { base_dir, env };
    read_text(text, |root| read(root, &sources))
}

fn read(root: &Section<'_>, sources: &Sources<'_>) -> Option<Settings> {
    let service = root.required("service", SERVICE);
    let service = service.and_then(|field| field.parsed(SERVICE, |text| text.parse().ok()));
    let listen = listen::read(&root.section("listen"), sources);
    let state = state::read(&root.section("state"), service.as_ref(), sources);
    let skew = state.default_skew();
    let pin = pin::read(&root.section("pin"), service.as_ref(), skew, sources);
    let upstream = upstream::read(&root.section("upstream"), sources);
    let groups = group::read(root, &listen, sources);
    if root.is_clean() {
        upstream::check(root, &upstream, &groups);
    }
    let pin_cookie = pin.as_ref().map(|pin| pin.cookie.name());
    let scopes = scope::read(root, pin_cookie);
    let experiments = experiment::read(root, pin_cookie);
    let max_age = pin
        .as_ref()
        .map_or(Lifetimes::default(), |pin| pin.lifetimes)
        .max_age();
    let rollback = rollback::read(&root.section("rollback"), max_age);
    let store = store::read(root, sources);
    if root.is_clean() {
        store::check(root, store.as_ref(), &scopes);
    }
    let access_log = access_log::read(root, sources);
    let analysis = analysis::read(&root.section("analysis"));
    root.finish();
    Some(Settings {
        service: service?,
        listen,
        pin: pin?,
        upstream,
        groups,
        scopes,
        experiments,
        rollback,
        state,
        store,
        access_log,
        analysis,
    })
}

/// What the text may refer to.
pub(super) struct Sources<'s> {
    base_dir: PathBuf,
    pub(super) env: &'s dyn Fn(&str) -> Option<String>,
}

impl Sources<'_> {
    /// The absolute form of a path in the file.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.base_dir.join(path)
    }

    /// A path that a key holds.
    pub(super) fn field_path(&self, field: &Field<'_>) -> Option<PathBuf> {
        let usable = |text: &str| {
            let fits = (1..=MAX_PATH).contains(&text.len()) && !text.contains('\0');
            (fits && !text.ends_with('/')).then(|| self.path(text.as_ref()))
        };
        field.parsed(
            "the path of a file, relative to this one or absolute",
            usable,
        )
    }
}

const SERVICE: &str = "1 to 32 of a-z 0-9 -";
/// Far below what an operating system takes.
const MAX_PATH: usize = 1_024;
