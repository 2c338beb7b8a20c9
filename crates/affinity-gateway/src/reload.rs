//! What a reload of the configuration changes in a running gateway: everything, or nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use tower_affinity::core::{GroupName, ServiceName};
use tower_affinity::store::GuardedStore;

use crate::access::AccessLog;
use crate::causes::with_causes;
use crate::config::{ConfigError, Settings, TlsSettings, UpstreamTls};
use crate::control::{Changed, Control, ControlError};
use crate::discovery::Feeds;
use crate::edge::Requests;
use crate::events::Kind;
use crate::files::fitting;
use crate::health::Checks;
use crate::metrics::Metrics;
use crate::serve::{LiveLimits, Transports, Tunnels};
use crate::stack::{Sent, StackError, build};
use crate::start_error::StartError;
use crate::stored;
use crate::swap::Swap;
use crate::transport::{Doorstep, TransportError};
use crate::upstream::{EndpointProtocol, Upstream, UpstreamOptions};

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
    /// The access log cannot be opened.
    #[error("access_log.path cannot be opened")]
    AccessLog(#[source] std::io::Error),
    /// A rule forbids the edit.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The layers cannot be built.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The listener's transport cannot be built.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// The parts of a running gateway that outlive a reload, and those that it replaces.
#[derive(Debug)]
pub(crate) struct Running {
    control: Control,
    swap: Swap,
    metrics: Metrics,
    tunnels: Tunnels,
    doorstep: Doorstep,
    limits: LiveLimits,
    requests: Requests,
    store: Option<GuardedStore>,
    live: Mutex<Live>,
}

/// What a reload replaces.
#[derive(Debug)]
struct Live {
    settings: Settings,
    upstream: Upstream<Sent>,
    checks: Checks,
    feeds: Feeds,
    log: Option<AccessLog>,
}

impl Running {
    /// Builds the path of a request and begins to find and to check endpoints; `own` are the
    /// addresses of the gateway itself.
    pub(crate) fn begin(
        settings: Settings,
        control: Control,
        metrics: Metrics,
        own: [SocketAddr; 2],
    ) -> Result<Self, StartError> {
        let doorstep = Doorstep::begin(
            &settings.listen,
            metrics.transport().clone(),
            control.clock(),
        )?;
        let tunnels = Tunnels::new();
        let balancing = settings.upstream.balancing.clone();
        control.groups().balance(balancing);
        let limits = LiveLimits::new(fitting(settings.listen.limits.clone()));
        let options = options(&settings, &metrics)?;
        let checks = checks(&settings, &control, &options, &metrics);
        let upstream = Upstream::new(options, tunnels.clone());
        let series = metrics.connections().clone();
        let requests = Requests::new(move || series.overloaded());
        let store = settings.store.as_ref().map(|store| {
            let (clock, recorder) = (control.clock(), metrics.recorder());
            stored::of(store, &settings.service, &clock, recorder)
        });
        let store = store.transpose()?;
        let log = log(&settings, &metrics).map_err(StartError::AccessLog)?;
        let stack = build(
            &settings,
            &control,
            upstream.clone(),
            &metrics,
            &requests,
            store.as_ref(),
            log.as_ref(),
        )?;
        let mut feeds = Feeds::new(control.clone(), metrics.discovery().clone(), own);
        feeds.follow(&settings);
        Ok(Self {
            control,
            swap: Swap::new(stack),
            metrics,
            tunnels,
            doorstep,
            limits,
            requests,
            store,
            live: Mutex::new(Live {
                settings,
                upstream,
                checks,
                feeds,
                log,
            }),
        })
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The service that is served; only a restart can change it.
    pub(crate) fn service(&self) -> ServiceName {
        self.live().settings.service.clone()
    }

    /// Waits until the access log is written; blocks.
    pub(crate) fn flush(&self) {
        let log = self.live().log.clone();
        if let Some(log) = log {
            log.flush();
        }
    }

    /// What keeps assignments besides pins.
    pub(crate) fn store(&self) -> Option<&GuardedStore> {
        self.store.as_ref()
    }

    /// The present path of a request.
    pub(crate) fn path(&self) -> Swap {
        self.swap.clone()
    }

    pub(crate) fn tunnels(&self) -> Tunnels {
        self.tunnels.clone()
    }

    /// What connections pass before HTTP.
    pub(crate) fn transports(&self) -> Transports {
        self.doorstep.transports()
    }

    /// What clients may take of the listener.
    pub(crate) fn limits(&self) -> LiveLimits {
        self.limits.clone()
    }

    /// The files that the settings were read from, besides the configuration itself.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let live = self.live();
        let tls = live.settings.listen.tls.as_ref();
        tls.map(TlsSettings::files).unwrap_or_default()
    }

    /// Applies the file if it says something else than before; a bad one is logged and counted.
    pub(crate) async fn reload_file(self: &Arc<Self>, path: &Path) {
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
                let text = format!("configuration applied (revision {revision})");
                self.control.events().keep(Kind::Config, None, &text);
            }
            Ok(Err(error)) => self.reject(path, &error),
            Err(error) => self.reject(path, &error),
        }
    }

    fn reject(&self, path: &Path, error: &dyn std::error::Error) {
        self.metrics.config_rejected();
        let error = with_causes(error);
        tracing::error!(path = %path.display(), %error, "configuration rejected; nothing changed");
        let text = format!("configuration rejected; nothing changed: {error}");
        self.control.events().keep(Kind::Config, None, &text);
    }

    pub(crate) fn reload(&self, settings: Settings) -> Result<Changed, ReloadError> {
        let mut live = self.live();
        if let Some(key) = needs_restart(&live.settings, &settings) {
            return Err(ReloadError::NeedsRestart(key));
        }
        let recheck = !live.settings.upstream.dials_like(&settings.upstream)
            || protocols(&live.settings).ne(protocols(&settings));
        let redial = recheck
            || live.settings.scopes != settings.scopes
            || live.settings.listen.trusted_proxies != settings.listen.trusted_proxies;
        let options = options(&settings, &self.metrics)?;
        let upstream = if redial {
            Upstream::new(options.clone(), self.tunnels.clone())
        } else {
            live.upstream.clone()
        };
        let (metrics, requests) = (&self.metrics, &self.requests);
        let log = if live.settings.access_log == settings.access_log {
            live.log.clone()
        } else {
            log(&settings, metrics).map_err(ReloadError::AccessLog)?
        };
        let stack = build(
            &settings,
            &self.control,
            upstream.clone(),
            metrics,
            requests,
            self.store.as_ref(),
            log.as_ref(),
        )?;
        let transport = self.doorstep.prepare(&settings.listen)?;
        let changed = self.control.apply(&settings)?;
        if live.settings.listen != settings.listen {
            self.doorstep.take(&settings.listen, transport);
            self.limits.replace(fitting(settings.listen.limits.clone()));
        }
        let balancing = settings.upstream.balancing.clone();
        self.control.groups().balance(balancing);
        self.swap.replace(stack);
        if recheck {
            live.checks = checks(&settings, &self.control, &options, &self.metrics);
        }
        live.feeds.follow(&settings);
        live.upstream = upstream;
        live.log = log;
        live.settings = settings;
        Ok(changed)
    }

    /// What stands against serving: an endpoint that was never found, or asked for its health, and what the
    /// other replicas show.
    pub(crate) fn unready(&self) -> Vec<String> {
        let mut why = Vec::new();
        let undiscovered = self.control.undiscovered();
        let silent = |group| format!("the source of the endpoints of {group} has not answered yet");
        why.extend(undiscovered.iter().map(silent));
        // endpoints that are not known yet were not checked either
        if undiscovered.is_empty() && !self.live().checks.is_complete() {
            why.push("not every endpoint was checked yet".to_owned());
        }
        why.extend(self.control.unfit());
        why
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
        ("listen.workers", old.listen.workers == new.listen.workers),
        ("listen.admin", old.listen.admin == new.listen.admin),
        (
            "listen.admin_token_file",
            old.listen.admin_token_file == new.listen.admin_token_file,
        ),
        ("listen.drain", old.listen.drain == new.listen.drain),
        (
            "listen.drain_delay",
            old.listen.drain_delay == new.listen.drain_delay,
        ),
        ("state", old.state == new.state),
        ("store", old.store == new.store),
    ]
    .into_iter()
    .find_map(|(key, same)| (!same).then_some(key))
}

fn log(settings: &Settings, metrics: &Metrics) -> std::io::Result<Option<AccessLog>> {
    let log = settings.access_log.as_ref();
    log.map(|log| AccessLog::open(&log.path, log.format, metrics.access_lost()))
        .transpose()
}

/// What each group speaks that says so.
fn protocols(settings: &Settings) -> impl Iterator<Item = (&GroupName, EndpointProtocol)> {
    let groups = settings.groups.iter();
    groups.filter_map(|group| Some((&group.name, group.protocol?)))
}

fn checks(
    settings: &Settings,
    control: &Control,
    options: &UpstreamOptions,
    metrics: &Metrics,
) -> Checks {
    let series = metrics.health().clone();
    Checks::begin(
        control.groups().clone(),
        &settings.upstream,
        options,
        move |group, answer| series.count(group, answer),
    )
}

fn options(settings: &Settings, metrics: &Metrics) -> Result<UpstreamOptions, StackError> {
    let upstream = &settings.upstream;
    let tls = upstream
        .tls
        .as_ref()
        .map(UpstreamTls::endpoints)
        .transpose();
    let mut options = UpstreamOptions::new()
        .protocol(upstream.protocol)
        .tls(tls.map_err(StackError::Tls)?)
        .connect_timeout(upstream.connect_timeout)
        .response_timeout(upstream.response_timeout)
        .idle_timeout(Some(upstream.idle_timeout))
        .total_timeout(upstream.total_timeout)
        .timeouts(metrics.timeouts().clone())
        .trusted_proxies(settings.listen.trusted_proxies.iter().copied());
    for (group, protocol) in protocols(settings) {
        options = options.group(group.clone(), protocol);
    }
    for scope in &settings.scopes {
        options = options.scope(scope.path.clone(), scope.limits(upstream));
    }
    Ok(options)
}
