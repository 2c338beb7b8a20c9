//! A gateway in this process, from a configuration file on the disk.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use affinity_gateway::config::Settings;
use affinity_gateway::{Gateway, StartError};
use tower_affinity::SystemClock;
use tower_affinity::core::Engine;

use crate::Scratch;
use crate::admin::Admin;
use crate::config::Config;

/// A running gateway with its file and its admin side.
#[derive(Debug)]
pub struct Replica {
    /// The gateway.
    pub gateway: Gateway,
    /// Its admin side.
    pub admin: Admin,
    /// Its configuration file.
    pub file: PathBuf,
}

impl Replica {
    /// Writes the file and starts a gateway from it. Its file is not watched.
    ///
    /// # Panics
    ///
    /// If the configuration is wrong, or the gateway does not start.
    pub async fn start(dir: &Scratch, config: &Config) -> Self {
        Self::named(dir, config, "gateway.toml").await
    }

    /// As [`Replica::start`], with another file name, for several gateways in one directory.
    ///
    /// # Panics
    ///
    /// If the configuration is wrong, or the gateway does not start.
    pub async fn named(dir: &Scratch, config: &Config, name: &str) -> Self {
        Self::started(dir, config, name, Gateway::start).await
    }

    /// As [`Replica::named`], for a gateway that is started in another way.
    ///
    /// # Panics
    ///
    /// If the configuration is wrong, or the gateway does not start.
    pub async fn started(
        dir: &Scratch,
        config: &Config,
        name: &str,
        start: impl AsyncFnOnce(Settings) -> Result<Gateway, StartError>,
    ) -> Self {
        let file = config.write(dir, name);
        let settings = load(&file);
        let token = settings.listen.admin_token_file.clone();
        let gateway = start(settings).await;
        let gateway = gateway.unwrap_or_else(|e| panic!("the gateway does not start: {e}"));
        let admin = Admin::new(gateway.admin(), &token);
        Self {
            gateway,
            admin,
            file,
        }
    }

    /// As [`Replica::named`], as one of several that share their state through `engine`.
    ///
    /// # Panics
    ///
    /// If the configuration is wrong, or the gateway does not start.
    pub async fn join(dir: &Scratch, config: &Config, name: &str, engine: Arc<dyn Engine>) -> Self {
        let clock = Arc::new(SystemClock::new());
        let start = async |settings| Gateway::start_with_engine(settings, clock, engine).await;
        Self::started(dir, config, name, start).await
    }

    /// Where clients are served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.gateway.address()
    }
}

/// Reads a file that has to be right.
///
/// # Panics
///
/// If it is wrong.
#[must_use]
pub fn load(file: &Path) -> Settings {
    Settings::load(file).unwrap_or_else(|e| panic!("the configuration is refused: {e}"))
}
