//! [`Gateway`]: data plane, control plane and admin side of one process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::connect_info::IntoMakeServiceWithConnectInfo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower_affinity::SystemClock;
use tower_affinity::balance::Groups;
use tower_affinity::core::{Clock, Engine};

use crate::admin::{self, AdminOptions, AdminToken, Entrance};
use crate::causes::with_causes;
use crate::config::{Settings, watch_all};
use crate::control::{Changed, Control, Start};
use crate::cuts;
use crate::drained;
use crate::engine;
use crate::follow::follow;
use crate::heartbeat::beat;
use crate::metrics::Metrics;
use crate::reload::{ReloadError, Running};
use crate::reserved::Reserved;
use crate::serve::{Drained, ServeOptions, serve};
use crate::start_error::StartError;

/// A running gateway. Dropping it begins the same end as [`Gateway::shutdown`] without waiting.
#[derive(Debug)]
pub struct Gateway {
    running: Arc<Running>,
    address: SocketAddr,
    admin: SocketAddr,
    data: JoinHandle<Drained>,
    tasks: Vec<JoinHandle<()>>,
    shutdown: CancellationToken,
    /// Ends what a request that is still in flight counts on.
    rest: CancellationToken,
    _ends: [DropGuard; 2],
}

impl Gateway {
    /// Takes both addresses, reads or makes the state, and serves. The admin side answers from the
    /// beginning; clients are refused until there is a state.
    ///
    /// # Errors
    ///
    /// If an address is taken, or the state, the token or the settings cannot be used.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        Self::start_with_clock(settings, Arc::new(SystemClock::new())).await
    }

    /// As [`Gateway::start`], with token time from another clock: sessions age, groups drain and
    /// deadlines pass as it says. Timeouts of connections keep their own time.
    ///
    /// # Errors
    ///
    /// As [`Gateway::start`].
    pub async fn start_with_clock(
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        let engine = engine::of(&settings.state)?;
        Self::begin(settings, clock, engine).await
    }

    /// As [`Gateway::start_with_clock`], as one of several replicas that share their state through
    /// `engine`, whatever the settings say of it.
    ///
    /// While the engine does not answer, a replica serves what it accepted last; without that it
    /// waits here: its admin side says so, and clients are refused.
    ///
    /// # Errors
    ///
    /// As [`Gateway::start`], and if what the engine holds is refused.
    pub async fn start_with_engine(
        settings: Settings,
        clock: Arc<dyn Clock>,
        engine: Arc<dyn Engine>,
    ) -> Result<Self, StartError> {
        Self::begin(settings, clock, Some(engine)).await
    }

    async fn begin(
        settings: Settings,
        clock: Arc<dyn Clock>,
        engine: Option<Arc<dyn Engine>>,
    ) -> Result<Self, StartError> {
        let data = Reserved::new(settings.listen.address, "listen.address")?;
        let side = Reserved::new(settings.listen.admin, "listen.admin")?;
        let (address, admin) = (data.address(), side.address());
        let token = AdminToken::load_or_create(&settings.listen.admin_token_file)?;
        let shutdown = CancellationToken::new();
        let rest = CancellationToken::new();
        let ends = [shutdown.clone(), rest.clone()].map(CancellationToken::drop_guard);
        let entrance = Entrance::default();
        let side = tokio::spawn(serve_admin(
            side.listen()?,
            entrance.routes().into_make_service_with_connect_info(),
            rest.clone(),
        ));
        let groups = Groups::new(Arc::clone(&clock));
        let metrics = Metrics::new().map_err(StartError::Metrics)?;
        let Start { control, .. } = match engine {
            Some(engine) => Control::join(&settings, groups, clock, engine).await?,
            None => Control::start(&settings, groups, clock)?,
        };
        metrics.follow(&control);
        let options = ServeOptions::new()
            .drain_deadline(settings.listen.drain)
            .drain_delay(settings.listen.drain_delay);
        let running = Arc::new(Running::begin(settings, control, metrics)?);
        let early = running.metrics().recorder().clone();
        let data = tokio::spawn(serve(
            data.listen()?,
            running.path(),
            options
                .recorder(move |status| early.early(status))
                .transports(running.transports()),
            running.tunnels(),
            shutdown.clone(),
        ));
        let options = admin_options(&running, token, (address, admin), &shutdown);
        entrance.open(admin::router(options));
        let mut tasks = vec![
            side,
            tokio::spawn(running.metrics().clone().upkeep(shutdown.clone())),
            tokio::spawn(cuts::follow(
                running.control().clone(),
                running.metrics().recorder().clone(),
                rest.clone(),
            )),
            tokio::spawn(drained::follow(
                running.control().clone(),
                running.metrics().recorder().clone(),
                rest.clone(),
            )),
        ];
        if let Some(member) = running.control().member() {
            tasks.push(tokio::spawn(follow(member.clone(), rest.clone())));
            let recorder = running.metrics().recorder().clone();
            tasks.push(tokio::spawn(beat(
                member,
                recorder,
                format!("http://{admin}"),
                rest.clone(),
            )));
        }
        Ok(Self {
            running,
            address,
            admin,
            data,
            tasks,
            shutdown,
            rest,
            _ends: ends,
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
        self.running.control().clone()
    }

    /// Follows the configuration file, and the certificate and keys of TLS that it names: a good
    /// edit is applied as a whole, a bad one changes nothing, is logged with its line and counted.
    pub fn watch(&mut self, path: PathBuf) {
        let running = Arc::clone(&self.running);
        let shutdown = self.shutdown.clone();
        self.tasks.push(tokio::spawn(async move {
            loop {
                let files = followed(&running, &path);
                let mut changes = watch_all(files.clone());
                // an edit between the last reading and here is no change to the watch
                running.reload_file(&path).await;
                // an edit may name other files
                while followed(&running, &path) == files {
                    tokio::select! {
                        () = changes.changed() => running.reload_file(&path).await,
                        () = shutdown.cancelled() => return,
                    }
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
        self.running.reload(settings)
    }

    /// Ends in good order: `/readyz` says so at once, after `listen.drain_delay` nothing is accepted
    /// any more, and what is in flight is finished until `listen.drain`. Answers what had to be cut.
    pub async fn shutdown(self) -> Drained {
        self.shutdown.cancel();
        // a panic in the accept loop has cut everything already
        let drained = self.data.await.unwrap_or_default();
        // until here an abort was still heard, and its streams cut
        self.rest.cancel();
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the gateway failed");
            }
        }
        let control = self.running.control().clone();
        if let Some(member) = control.member() {
            let recorder = self.running.metrics().recorder();
            let admin = format!("http://{}", self.admin);
            if let Err(error) = member.depart(recorder, &admin).await {
                let error = with_causes(&error);
                tracing::warn!(error, "the other replicas do not hear that this one leaves");
            }
        }
        match tokio::task::spawn_blocking(move || control.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the end of pins was not kept"),
            Err(error) => tracing::error!(%error, "the end of pins was not kept"),
        }
        drained
    }
}

/// The configuration file, and what it names.
fn followed(running: &Running, path: &Path) -> Vec<PathBuf> {
    [vec![path.to_owned()], running.files()].concat()
}

fn admin_options(
    running: &Arc<Running>,
    token: AdminToken,
    (data, address): (SocketAddr, SocketAddr),
    shutdown: &CancellationToken,
) -> AdminOptions {
    let (state, shutdown) = (Arc::clone(running), shutdown.clone());
    AdminOptions {
        control: running.control().clone(),
        token,
        address,
        data,
        recorder: running.metrics().recorder().clone(),
        metrics: running.metrics().renderer(running.control()),
        unready: Arc::new(move || match shutdown.is_cancelled() {
            true => vec!["ending: the gateway takes no new clients".to_owned()],
            false => state.unready(),
        }),
    }
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
