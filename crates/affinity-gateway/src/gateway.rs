//! [`Gateway`]: data plane, control plane and admin side of one process.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::{CancellationToken, DropGuard};
use tower_affinity::SystemClock;
use tower_affinity::balance::Groups;
use tower_affinity::core::{Clock, Engine};

use crate::admin::{
    self, AdminOptions, AdminToken, Entrance, Sampler, Sources, Streams, serve_side,
};
use crate::analysis;
use crate::auth;
use crate::causes::with_causes;
use crate::config::{Settings, watch_all};
use crate::control::{Changed, Control, SUCCESSOR, Start};
use crate::cuts;
use crate::drained;
use crate::engine;
use crate::follow::follow;
use crate::heartbeat::beat;
use crate::metrics::Metrics;
use crate::reload::{ReloadError, Running};
use crate::reserved::Reserved;
use crate::serve::{Drained, ServeOptions, Shutdown, Workers};
use crate::start_error::StartError;
use crate::stored;
use crate::upgrade::{Offer, Offered, Sockets, Takeover};
use crate::watched;

/// A running gateway. Dropping it begins the same end as [`Gateway::shutdown`] without waiting.
#[derive(Debug)]
pub struct Gateway {
    running: Arc<Running>,
    address: SocketAddr,
    admin: SocketAddr,
    data: JoinHandle<Drained>,
    tasks: Vec<JoinHandle<()>>,
    shutdown: Shutdown,
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
        Self::begin(settings, clock, engine, None).await
    }

    /// As [`Gateway::start`], in the place of a running gateway with the same state file, whose
    /// sockets and state this one takes over. That one goes on if this one cannot start, and ends
    /// in good order if it can; no client is refused meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Gateway::start`], and if no such gateway is there or it is of another kind.
    pub async fn upgrade(settings: Settings) -> Result<Self, StartError> {
        let clock = Arc::new(SystemClock::new());
        let engine = engine::of(&settings.state)?;
        let takeover = Takeover::begin(&settings.state.file).await?;
        Self::begin(settings, clock, engine, Some(takeover)).await
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
        Self::begin(settings, clock, Some(engine), None).await
    }

    async fn begin(
        settings: Settings,
        clock: Arc<dyn Clock>,
        engine: Option<Arc<dyn Engine>>,
        mut takeover: Option<Takeover>,
    ) -> Result<Self, StartError> {
        let (data, side) = reserve(&settings, takeover.as_mut())?;
        let (address, admin) = (data.address(), side.address());
        let token = AdminToken::load_or_create(&settings.listen.admin_token_file)?;
        let shutdown = Shutdown::new();
        let rest = CancellationToken::new();
        let ends = [shutdown.token().clone(), rest.clone()].map(CancellationToken::drop_guard);
        let entrance = Entrance::default();
        let side_end = Shutdown::from(rest.child_token());
        let side = one(side)?;
        let side_socket = side.as_fd().try_clone_to_owned();
        let serve_side =
            |listener| tokio::spawn(serve_side(listener, entrance.routes(), side_end.clone()));
        // as long as another process answers here, this one does not
        let (mut side, later) = match &takeover {
            None => (Some(serve_side(side)), None),
            Some(takeover) => {
                takeover.seal().await?;
                (None, Some(side))
            }
        };
        let groups = Groups::new(Arc::clone(&clock));
        groups.expect_checks(settings.upstream.health.is_some());
        let metrics = Metrics::new().map_err(StartError::Metrics)?;
        let Start { control, .. } = match (engine, &takeover) {
            (Some(engine), None) => Control::join(&settings, groups, clock, engine).await?,
            (Some(engine), Some(_)) => Control::join_over(&settings, groups, clock, engine).await?,
            (None, None) => Control::start(&settings, groups, clock)?,
            (None, Some(_)) => Control::take_over(&settings, groups, clock)?,
        };
        metrics.follow(&control);
        let options = ServeOptions::new()
            .drain_deadline(settings.listen.drain)
            .drain_delay(settings.listen.drain_delay);
        let state = settings.state.file.clone();
        let workers = Workers::new(settings.listen.workers).map_err(StartError::Workers)?;
        let running = Arc::new(Running::begin(
            settings,
            control,
            metrics,
            [address, admin],
        )?);
        let mut listening = data.listen()?;
        if let Some(takeover) = &takeover {
            takeover.wait(|| running.unready()).await?;
            takeover.ready().await?;
            own(running.control()).await;
        }
        // not before: what waits in the queues of further sockets would be lost if this one failed
        match (listening.spread(workers.len()), &takeover) {
            (Ok(()), _) => {}
            (Err(error), None) => return Err(error),
            // the other one has given up its place already
            (Err(error), Some(_)) => {
                let error = with_causes(&error);
                tracing::error!(error, "some workers have no socket and serve nobody");
            }
        }
        let early = running.metrics().recorder().clone();
        let series = running.metrics().connections().clone();
        let options = options
            .recorder(move |status| early.early(status))
            .limits(running.limits())
            .connections(move |event| series.count(event))
            .transports(running.transports());
        let path = running.path();
        let (tunnels, end) = (running.tunnels(), shutdown.clone());
        let served = workers.serve(listening.into_sockets(), &path, options, tunnels, end);
        let (sockets, served) = served.map_err(StartError::Workers)?;
        let data = tokio::spawn(served);
        let offer = side_socket.map(|admin| Offer {
            control: running.control().clone(),
            data: sockets,
            admin,
        });
        let endings = (&shutdown, &side_end);
        let options = admin_options(&running, token, (address, admin), endings);
        entrance.open(admin::router(options));
        side = side.or(later.map(serve_side));
        if let Some(takeover) = takeover {
            takeover.serving().await;
        }
        let mut tasks: Vec<_> = side.into_iter().collect();
        match offer {
            Ok(offer) => tasks.push(tokio::spawn(stand(
                offer,
                state,
                Arc::clone(&running),
                (shutdown.clone(), side_end, rest.clone()),
            ))),
            Err(error) => tracing::warn!(%error, "no other process can take over from this one"),
        }
        tasks.extend([
            tokio::spawn(running.metrics().clone().upkeep(
                running.control().clone(),
                running.store().cloned(),
                shutdown.token().clone(),
            )),
            tokio::spawn(cuts::follow(
                running.control().clone(),
                running.metrics().recorder().clone(),
                rest.clone(),
            )),
            tokio::spawn(watched::follow(Arc::clone(&running), rest.clone())),
            tokio::spawn(drained::follow(
                running.control().clone(),
                running.metrics().recorder().clone(),
                rest.clone(),
            )),
        ]);
        tasks.push(tokio::spawn(analysis::watch(
            running.control().clone(),
            running.metrics().recorder().clone(),
            running.metrics().verdicts().clone(),
            rest.clone(),
        )));
        tasks.push(tokio::spawn(auth::watch(
            running.control().clone(),
            running.metrics().recorder().clone(),
            rest.clone(),
        )));
        if let Some(store) = running.store() {
            let clock = running.control().clock();
            tasks.push(tokio::spawn(stored::keep(
                store.clone(),
                clock,
                rest.clone(),
            )));
        }
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
        let shutdown = self.shutdown.token().clone();
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

    /// Waits until another process has taken over: this one accepts no more, and is to be ended by
    /// [`Gateway::shutdown`].
    pub async fn taken_over(&self) {
        self.shutdown.token().cancelled().await;
        if !self.shutdown.is_handed_over() {
            std::future::pending().await
        }
    }

    /// Ends in good order: `/readyz` says so at once, after `listen.drain_delay` nothing is accepted
    /// any more, and what is in flight is finished until `listen.drain`. Answers what had to be cut.
    pub async fn shutdown(self) -> Drained {
        self.shutdown.begin();
        // a panic there has cut everything already
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
        let running = self.running;
        let end = move || {
            running.flush();
            control.close()
        };
        match spawn_blocking(end).await {
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

/// Both addresses, or the sockets that another process has them with.
fn reserve(
    settings: &Settings,
    takeover: Option<&mut Takeover>,
) -> Result<(Reserved, Reserved), StartError> {
    let (data, side) = (settings.listen.address, settings.listen.admin);
    match takeover.and_then(Takeover::sockets) {
        None => Ok((
            Reserved::new(data, "listen.address")?,
            Reserved::new(side, "listen.admin")?,
        )),
        Some(Sockets {
            data: handed,
            admin,
        }) => Ok((
            Reserved::handed(handed, data, "listen.address")?,
            Reserved::handed(vec![admin], side, "listen.admin")?,
        )),
    }
}

/// The one socket that the admin side is served on.
fn one(side: Reserved) -> Result<TcpListener, StartError> {
    let address = side.address();
    let mut sockets = side.listen()?.into_sockets();
    let socket = sockets.pop().ok_or(io::ErrorKind::NotFound.into());
    let listener = socket.and_then(TcpListener::from_std);
    listener.map_err(|source| StartError::Listen {
        address,
        key: "listen.admin",
        source,
    })
}

/// Takes the state file over. What cannot be kept now is kept with the next change.
async fn own(control: &Control) {
    let control = control.clone();
    match spawn_blocking(move || control.own()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let error = with_causes(&error);
            tracing::error!(error, "the state that was taken over is not kept");
        }
        Err(error) => tracing::error!(%error, "the state that was taken over is not kept"),
    }
}

/// Lets another process take over, then obeys what that one accepts until `rest`.
async fn stand(
    offer: Offer,
    state: PathBuf,
    running: Arc<Running>,
    (shutdown, side_end, rest): (Shutdown, Shutdown, CancellationToken),
) {
    let ended = |offered| {
        running.metrics().upgraded(offered);
        if offered == Offered::Done {
            tracing::info!("another process has taken over; ending after what is in flight");
            shutdown.hand_over();
            side_end.hand_over();
        }
    };
    offer.stand(&state, shutdown.token().clone(), ended).await;
    if !shutdown.is_handed_over() || running.control().member().is_some() {
        return;
    }
    while !rest.is_cancelled() {
        let control = running.control().clone();
        if spawn_blocking(move || control.obey_successor())
            .await
            .is_err()
        {
            return;
        }
        tokio::time::sleep(SUCCESSOR).await;
    }
}

fn admin_options(
    running: &Arc<Running>,
    token: AdminToken,
    (data, address): (SocketAddr, SocketAddr),
    (shutdown, side_end): (&Shutdown, &Shutdown),
) -> AdminOptions {
    let (state, shutdown) = (Arc::clone(running), shutdown.clone());
    let metrics = running.metrics();
    let sources = Sources {
        service: running.service(),
        control: running.control().clone(),
        recorder: metrics.recorder().clone(),
        metrics: metrics.renderer(running.control(), running.store()),
        unready: Arc::new(move || match shutdown.is_begun() {
            true => vec!["ending: the gateway takes no new clients".to_owned()],
            false => state.unready(),
        }),
    };
    AdminOptions {
        control: running.control().clone(),
        token,
        address,
        data,
        recorder: sources.recorder.clone(),
        metrics: Arc::clone(&sources.metrics),
        unready: Arc::clone(&sources.unready),
        overview: Sampler::new(sources),
        streams: Streams::new(metrics.streams().clone()),
        ending: side_end.token().clone(),
    }
}
