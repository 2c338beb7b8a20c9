//! [`Link`]: the way to the servers, made when it is first needed and made anew when it is stuck.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::io::tcp::TcpSettings;
use redis::{
    Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, RedisFuture, Value,
};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::options::RedisOptions;

/// One connection that all requests share: it sends them one after the other without waiting for
/// answers.
#[derive(Clone)]
pub(crate) struct Link(Arc<Shared>);

struct Shared {
    servers: Vec<ConnectionAddr>,
    options: RedisOptions,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    /// Counts up with every connection that replaces another one.
    turn: u64,
    /// When the last one was begun.
    begun: Option<Instant>,
    way: Option<Way>,
}

/// A connection that is here, has failed, or is being made by a task of its own: whoever asked for
/// it first has perhaps long gone when it is there.
type Way = watch::Receiver<Option<Result<Connection, RedisError>>>;

#[derive(Clone)]
enum Connection {
    One(ConnectionManager),
    #[cfg(feature = "cluster")]
    Cluster(redis::cluster_async::ClusterConnection),
}

/// The least time between two attempts to come out of a state that the driver stays in.
const PAUSE: Duration = Duration::from_secs(1);

impl Link {
    pub(crate) fn new(servers: Vec<ConnectionAddr>, options: RedisOptions) -> Self {
        Self(Arc::new(Shared {
            servers,
            options,
            current: Mutex::default(),
        }))
    }

    /// Sends one command and waits for its answer.
    pub(crate) async fn ask(&self, command: &Cmd) -> Result<Value, RedisError> {
        let (turn, mut way) = self.way();
        let made = match way.wait_for(Option::is_some).await {
            Ok(made) => made.clone(),
            // its task ended with its runtime
            Err(_) => None,
        };
        let mut connection = match made {
            Some(Ok(connection)) => connection,
            Some(Err(error)) => return Err(error),
            None => return Err((ErrorKind::Client, "the connection was given up").into()),
        };
        let answer = connection.ask(command).await;
        let answer = answer.and_then(Value::extract_error);
        if let Err(error) = &answer
            && is_stuck(error)
        {
            self.renew(turn);
        }
        answer
    }

    /// The present connection, or the one that is made now.
    fn way(&self) -> (u64, Way) {
        let mut current = self.current();
        let has_failed = match &current.way {
            Some(way) => match &*way.borrow() {
                Some(made) => made.is_err(),
                None => way.has_changed().is_err(),
            },
            None => true,
        };
        match &current.way {
            Some(way) if !has_failed || !current.may_begin() => (current.turn, way.clone()),
            _ => {
                let (told, way) = watch::channel(None);
                current.begin(way.clone());
                let link = self.clone();
                tokio::spawn(async move {
                    told.send_replace(Some(link.connect().await));
                });
                (current.turn, way)
            }
        }
    }

    /// Makes another connection in place of one that is stuck, and uses the old one until then.
    fn renew(&self, turn: u64) {
        let mut current = self.current();
        if current.turn != turn || !current.may_begin() {
            return;
        }
        current.begun = Some(Instant::now());
        let link = self.clone();
        tokio::spawn(async move {
            let Ok(connection) = link.connect().await else {
                return;
            };
            let mut current = link.current();
            if current.turn == turn {
                current.begin(watch::channel(Some(Ok(connection))).1);
            }
        });
    }

    async fn connect(&self) -> Result<Connection, RedisError> {
        #[cfg(feature = "cluster")]
        if self.0.options.is_cluster() {
            return self.cluster().await.map(Connection::Cluster);
        }
        let Some(server) = self.infos()?.into_iter().next() else {
            return Err((ErrorKind::InvalidClientConfig, "there is no server").into());
        };
        let options = &self.0.options;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(options.response_timeout))
            .set_connection_timeout(Some(options.connect_timeout))
            .set_min_delay(Duration::from_millis(50))
            .set_max_delay(Duration::from_millis(500));
        let manager = ConnectionManager::new_with_config(Client::open(server)?, config);
        manager.await.map(Connection::One)
    }

    #[cfg(feature = "cluster")]
    async fn cluster(&self) -> Result<redis::cluster_async::ClusterConnection, RedisError> {
        let options = &self.0.options;
        let builder = redis::cluster::ClusterClientBuilder::new(self.infos()?)
            .response_timeout(options.response_timeout)
            .overall_response_timeout(Some(options.response_timeout * 3))
            .connection_timeout(options.connect_timeout)
            .tcp_settings(tcp())
            .min_retry_wait(5)
            .max_retry_wait(50)
            .retries(5);
        builder.build()?.get_async_connection().await
    }

    fn infos(&self) -> Result<Vec<ConnectionInfo>, RedisError> {
        let options = &self.0.options;
        let mut login = RedisConnectionInfo::default().set_db(options.database.into());
        if let Some(user) = &options.user {
            login = login.set_username(user);
        }
        if let Some(password) = &options.password {
            login = login.set_password(password);
        }
        let servers = self.0.servers.iter();
        let infos = servers.map(|server| {
            let info = server.clone().into_connection_info()?;
            Ok(info
                .set_redis_settings(login.clone())
                .set_tcp_settings(tcp()))
        });
        infos.collect()
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // nothing that holds the lock can fail half-way
        let current = self.0.current.lock();
        current.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn may_begin(&self) -> bool {
        self.begun.is_none_or(|begun| begun.elapsed() >= PAUSE)
    }

    fn begin(&mut self, way: Way) {
        self.turn = self.turn.wrapping_add(1);
        self.begun = Some(Instant::now());
        self.way = Some(way);
    }
}

impl Connection {
    fn ask<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::One(manager) => manager.req_packed_command(command),
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.req_packed_command(command),
        }
    }
}

/// Whether the driver would go on with this connection although another one may do better: it makes
/// a new one by itself only where the old one has ended.
fn is_stuck(error: &RedisError) -> bool {
    let code = error.code().unwrap_or_default();
    error.is_timeout()
        || error.kind() == ErrorKind::AuthenticationFailed
        // the name of the server leads to another one after a failover; or the login has changed
        || ["READONLY", "MASTERDOWN", "NOAUTH", "WRONGPASS"].contains(&code)
}

fn tcp() -> TcpSettings {
    // a command is one small write that is waited for
    TcpSettings::default().set_nodelay(true)
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<String> = self.0.servers.iter().map(ToString::to_string).collect();
        f.debug_struct("Link")
            .field("servers", &servers)
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
