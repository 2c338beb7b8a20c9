//! The side of the new process.

use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use tokio::net::UnixStream;
use tokio::time::{Instant, timeout_at};

use super::channel::Channel;
use super::{HELLO, PATIENCE, Place, READY, SEAL, SEALED, SERVING, SOCKETS, UpgradeError, YOURS};

/// The sockets of the process that is taken over.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Those for clients, at least one.
    pub(crate) data: Vec<OwnedFd>,
    pub(crate) admin: OwnedFd,
}

/// A running gateway that is being taken over. Dropped before [`Takeover::serving`], it goes on.
#[derive(Debug)]
pub(crate) struct Takeover {
    channel: Channel,
    until: Instant,
    sockets: Option<Sockets>,
}

impl Takeover {
    /// Asks the gateway that has this state file for its sockets.
    pub(crate) async fn begin(state: &Path) -> Result<Self, UpgradeError> {
        let path = super::path(state);
        let until = Instant::now() + PATIENCE;
        let stream = in_time(until, async {
            let stream = UnixStream::connect(&path).await;
            stream.map_err(|error| UpgradeError::Nobody(path.clone(), error))
        })
        .await?;
        let channel = Channel::new(stream);
        // another user could listen there first, and keep a copy of each socket that it hands over
        channel.admit(rustix::process::geteuid().as_raw())?;
        let (word, came) = in_time(until, async {
            channel.say(HELLO).await?;
            Ok(channel.hear().await?)
        })
        .await?;
        let Some(places) = word.strip_prefix(SOCKETS) else {
            return Err(UpgradeError::Word {
                expected: SOCKETS,
                said: word,
            });
        };
        let (mut data, mut admin) = (Vec::new(), Vec::new());
        let places: Vec<_> = places.split_whitespace().map(Place::of).collect();
        let whole = places.len() == came.len();
        for (place, socket) in places.into_iter().zip(came) {
            match place {
                Some(Place::Data) => data.push(socket),
                Some(Place::Admin) => admin.push(socket),
                // of a later release, which this one cannot serve
                None => return Err(UpgradeError::Sockets(word)),
            }
        }
        let sockets = match admin.pop() {
            Some(side) if whole && !data.is_empty() && admin.is_empty() => {
                Some(Sockets { data, admin: side })
            }
            _ => return Err(UpgradeError::Sockets(word)),
        };
        Ok(Self {
            channel,
            until,
            sockets,
        })
    }

    /// The sockets, once.
    pub(crate) fn sockets(&mut self) -> Option<Sockets> {
        self.sockets.take()
    }

    /// Waits until the state of the other process is kept, and changes no more.
    pub(crate) async fn seal(&self) -> Result<(), UpgradeError> {
        self.asks(SEAL, SEALED).await
    }

    /// Waits until `unready` names nothing any more, as long as the other process does.
    pub(crate) async fn wait(&self, unready: impl Fn() -> Vec<String>) -> Result<(), UpgradeError> {
        loop {
            let why = unready();
            if why.is_empty() {
                return Ok(());
            }
            if Instant::now() >= self.until {
                return Err(UpgradeError::Unready(why.join("; ")));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Says that everything is ready. From the answer on the state is this process's.
    pub(crate) async fn ready(&self) -> Result<(), UpgradeError> {
        self.asks(READY, YOURS).await
    }

    /// Says that clients are served here.
    pub(crate) async fn serving(self) {
        if let Err(error) = self.channel.say(SERVING).await {
            tracing::warn!(%error, "the process that was taken over is gone already");
        }
    }

    async fn asks(&self, word: &'static str, answer: &'static str) -> Result<(), UpgradeError> {
        in_time(self.until, async {
            self.channel.say(word).await?;
            self.channel.expect(answer).await
        })
        .await
    }
}

async fn in_time<T>(
    until: Instant,
    talk: impl Future<Output = Result<T, UpgradeError>>,
) -> Result<T, UpgradeError> {
    timeout_at(until, talk)
        .await
        .unwrap_or(Err(UpgradeError::Late))
}

/// Whether a socket at `found` is what a setting asks for.
pub(crate) fn fits(
    key: &'static str,
    wanted: SocketAddr,
    found: SocketAddr,
) -> Result<(), UpgradeError> {
    let port = wanted.port() == 0 || wanted.port() == found.port();
    if port && wanted.ip() == found.ip() {
        return Ok(());
    }
    Err(UpgradeError::Address { key, wanted, found })
}

/// How often it is looked whether everything is ready.
const LOOK: std::time::Duration = std::time::Duration::from_millis(10);
