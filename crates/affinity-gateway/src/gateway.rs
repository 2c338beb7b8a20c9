//! [`Gateway`]: data plane, control plane and admin side of one process.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::connect_info::IntoMakeServiceWithConnectInfo;
use hyper::body::Incoming;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower_affinity::SystemClock;
use tower_affinity::balance::Groups;
use tower_affinity::core::Clock;

use crate::admin::{self, AdminOptions, AdminToken, TokenError};
use crate::causes::with_causes;
use crate::config::{ConfigError, Settings, watch};
use crate::control::{Changed, Control, ControlError, Start};
use crate::health::Checks;
use crate::metrics::Metrics;
use crate::serve::{Drained, ServeOptions, Tunnels, serve};
use crate::stack::{StackError, Swap, build};
use crate::upstream::{Upstream, UpstreamOptions};

/// A running gateway. Dropping it without [`Gateway::shutdown`] cuts everything at once.
#[derive(Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
    address: SocketAddr,
    admin: SocketAddr,
    data: JoinHandle<Drained>,
    tasks: Vec<JoinHandle<()>>,
    shutdown: CancellationToken,
}

/// What a reload changes.
#[derive(Debug)]
struct Shared {
    control: Control,
    swap: Swap,
    metrics: Metrics,
    tunnels: Tunnels,
    live: Mutex<Live>,
}

#[derive(Debug)]
struct Live {
    settings: Settings,
    upstream: Upstream<Incoming>,
    checks: Checks,
}

/// A gateway that could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address} ({key})")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The setting that names it.
        key: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The admin token cannot be read or made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The state or the edits since are refused.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The layers cannot be built.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The metrics cannot be set up.
    #[error("the metrics cannot be set up: {0}")]
    Metrics(String),
}

/// An edited configuration of which nothing was applied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The file is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting changed that only a restart can change.
    #[error("{0} cannot be changed while the gateway runs; undo the edit or restart it")]
    NeedsRestart(&'static str),
    /// A rule forbids the edit.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The layers cannot be built.
    #[error(transparent)]
    Stack(#[from] StackError),
}

impl Gateway {
    /// Binds both listeners, reads or makes the state, and serves.
    ///
    /// # Errors
    ///
    /// If an address is taken, or the state, the token or the settings cannot be used.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let listener = bind(settings.listen.address, "listen.address").await?;
        let admin_listener = bind(settings.listen.admin, "listen.admin").await?;
        let (address, admin) = (local(&listener)?, local(&admin_listener)?);
        let token = AdminToken::load_or_create(&settings.listen.admin_token_file)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let groups = Groups::new(Arc::clone(&clock));
        let metrics = Metrics::new().map_err(StartError::Metrics)?;
        let Start { control, .. } = Control::start(&settings, groups, clock)?;
        metrics.follow(&control);
        let tunnels = Tunnels::new();
        let upstream = upstream(&settings, &tunnels);
        let checks = Checks::begin(control.groups().clone(), &settings.upstream);
        let stack = build(&settings, &control, upstream.clone(), metrics.recorder())?;
        let shared = Arc::new(Shared {
            control,
            swap: Swap::new(stack),
            metrics,
            tunnels,
            live: Mutex::new(Live {
                settings,
                upstream,
                checks,
            }),
        });
        let shutdown = CancellationToken::new();
        let data = tokio::spawn(serve(
            listener,
            shared.swap.clone(),
            ServeOptions::new(),
            shared.tunnels.clone(),
            shutdown.clone(),
        ));
        let routes = admin::router(admin_options(&shared, token, admin, &shutdown))
            .into_make_service_with_connect_info::<SocketAddr>();
        let tasks = vec![
            tokio::spawn(serve_admin(admin_listener, routes, shutdown.clone())),
            tokio::spawn(shared.metrics.clone().upkeep(shutdown.clone())),
        ];
        Ok(Self {
            shared,
            address,
            admin,
            data,
            tasks,
            shutdown,
        })
    }

    /// Where clients are served; the real port if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the admin side is.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The control plane.
    #[must_use]
    pub fn control(&self) -> Control {
        self.shared.control.clone()
    }

    /// Follows the configuration file: a good edit is applied as a whole, a bad one changes
    /// nothing, is logged with its line and counted.
    pub fn watch(&mut self, path: PathBuf) {
        let shared = Arc::clone(&self.shared);
        let shutdown = self.shutdown.clone();
        let mut changes = watch(&path);
        self.tasks.push(tokio::spawn(async move {
            // an edit between the start and here is no change to the watch
            shared.reload_file(&path).await;
            loop {
                tokio::select! {
                    () = changes.changed() => shared.reload_file(&path).await,
                    () = shutdown.cancelled() => return,
                }
            }
        }));
    }

    /// Applies other settings as a whole, or nothing of them.
    ///
    /// Blocks while the state file is written.
    ///
    /// # Errors
    ///
    /// If a rule forbids them, or they need a restart.
    pub fn reload(&self, settings: Settings) -> Result<Changed, ReloadError> {
        self.shared.reload(settings)
    }

    /// Ends in good order: nothing is accepted any more, what is in flight is finished until a
    /// deadline. Answers what had to be cut.
    pub async fn shutdown(self) -> Drained {
        self.shutdown.cancel();
        // a panic in the accept loop has cut everything already
        let drained = self.data.await.unwrap_or_default();
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the gateway failed");
            }
        }
        drained
    }
}

impl Shared {
    async fn reload_file(self: &Arc<Self>, path: &Path) {
        let (shared, file) = (Arc::clone(self), path.to_owned());
        let reloaded = tokio::task::spawn_blocking(move || {
            let settings = Settings::load(&file)?;
            if shared.live().settings == settings {
                return Ok(None);
            }
            shared.reload(settings).map(Some)
        });
        match reloaded.await {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(changed))) => {
                let revision = changed.after.revision().0;
                tracing::info!(path = %path.display(), revision, "configuration applied");
            }
            Ok(Err(error)) => self.reject(path, &error),
            Err(error) => self.reject(path, &error),
        }
    }

    fn reject(&self, path: &Path, error: &dyn std::error::Error) {
        self.metrics.config_rejected();
        let error = with_causes(error);
        tracing::error!(path = %path.display(), %error, "configuration rejected; nothing changed");
    }

    fn reload(&self, settings: Settings) -> Result<Changed, ReloadError> {
        let mut live = self.live();
        if let Some(key) = needs_restart(&live.settings, &settings) {
            return Err(ReloadError::NeedsRestart(key));
        }
        let redial = live.settings.upstream != settings.upstream
            || live.settings.listen.trusted_proxies != settings.listen.trusted_proxies;
        let upstream = if redial {
            upstream(&settings, &self.tunnels)
        } else {
            live.upstream.clone()
        };
        let stack = build(
            &settings,
            &self.control,
            upstream.clone(),
            self.metrics.recorder(),
        )?;
        let changed = self.control.apply(&settings)?;
        self.swap.replace(stack);
        if live.settings.upstream != settings.upstream {
            live.checks = Checks::begin(self.control.groups().clone(), &settings.upstream);
        }
        live.upstream = upstream;
        live.settings = settings;
        Ok(changed)
    }

    fn is_ready(&self) -> bool {
        self.live().checks.is_complete()
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        // a reload puts whole values into it, so it is right even after another thread panicked
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn needs_restart(old: &Settings, new: &Settings) -> Option<&'static str> {
    [
        ("service", old.service == new.service),
        ("listen.address", old.listen.address == new.listen.address),
        ("listen.admin", old.listen.admin == new.listen.admin),
        (
            "listen.admin_token_file",
            old.listen.admin_token_file == new.listen.admin_token_file,
        ),
        ("state.file", old.state == new.state),
    ]
    .into_iter()
    .find_map(|(key, same)| (!same).then_some(key))
}

fn upstream(settings: &Settings, tunnels: &Tunnels) -> Upstream<Incoming> {
    let options = UpstreamOptions::new()
        .connect_timeout(settings.upstream.connect_timeout)
        .response_timeout(settings.upstream.response_timeout)
        .trusted_proxies(settings.listen.trusted_proxies.iter().copied());
    Upstream::new(options, tunnels.clone())
}

fn admin_options(
    shared: &Arc<Shared>,
    token: AdminToken,
    address: SocketAddr,
    shutdown: &CancellationToken,
) -> AdminOptions {
    let (state, shutdown) = (Arc::clone(shared), shutdown.clone());
    AdminOptions {
        control: shared.control.clone(),
        token,
        address: address.ip(),
        metrics: shared.metrics.renderer(&shared.control),
        ready: Arc::new(move || !shutdown.is_cancelled() && state.is_ready()),
    }
}

async fn bind(address: SocketAddr, key: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| StartError::Listen {
            address,
            key,
            source,
        })
}

fn local(listener: &TcpListener) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|source| StartError::Listen {
        address: SocketAddr::from(([0, 0, 0, 0], 0)),
        key: "listen",
        source,
    })
}

/// How long the admin side may still answer after the shutdown began.
const ADMIN_GRACE: Duration = Duration::from_secs(1);

async fn serve_admin(
    listener: TcpListener,
    routes: IntoMakeServiceWithConnectInfo<axum::Router, SocketAddr>,
    shutdown: CancellationToken,
) {
    let signal = shutdown.clone().cancelled_owned();
    let server = axum::serve(listener, routes).with_graceful_shutdown(signal);
    tokio::select! {
        served = server => {
            if let Err(error) = served {
                tracing::error!(%error, "the admin side failed");
            }
        }
        // a client that keeps its connection open does not hold the end up
        () = async { shutdown.cancelled().await; tokio::time::sleep(ADMIN_GRACE).await } => {}
    }
}
