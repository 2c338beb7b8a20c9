//! The side of the running process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::channel::Channel;
use super::{HELLO, PATIENCE, Place, READY, SEAL, SEALED, SERVING, SOCKETS, UpgradeError, YOURS};
use crate::causes::with_causes;
use crate::control::Control;
use crate::serve::Socket;

/// What a process can be asked for.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) control: Control,
    /// Sockets whose listeners may end before the offer: they must not be kept open by it.
    pub(crate) data: Vec<Socket>,
    pub(crate) admin: OwnedFd,
}

/// How an attempt to take over ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// Another process serves.
    Done,
    /// This one goes on.
    Failed,
}

impl Offer {
    /// Listens beside the state file until another process has taken over, or `shutdown`. Each
    /// attempt is told to `ended`.
    pub(crate) async fn stand(
        self,
        state: &Path,
        shutdown: CancellationToken,
        ended: impl Fn(Offered),
    ) {
        let path = super::path(state);
        let standing = async {
            let mut door = None;
            loop {
                let channel = knock(&path, &mut door).await;
                let mut sealed = Sealed::new(&self.control);
                match self.talk(&channel, &mut door, &mut sealed).await {
                    Ok(()) => {
                        sealed.keep();
                        ended(Offered::Done);
                        return;
                    }
                    Err(error) => {
                        let why = with_causes(&error);
                        tracing::error!(why, "no upgrade: this process goes on");
                        ended(Offered::Failed);
                    }
                }
                sealed.open().await;
            }
        };
        tokio::select! {
            () = standing => {}
            () = shutdown.cancelled() => {}
        }
    }

    async fn talk(
        &self,
        channel: &Channel,
        door: &mut Option<Door>,
        sealed: &mut Sealed<'_>,
    ) -> Result<(), UpgradeError> {
        let ready = timeout(PATIENCE, self.prepare(channel, sealed));
        ready.await.unwrap_or(Err(UpgradeError::Late))?;
        // the new process opens its own at the same place
        *door = None;
        channel.say(YOURS).await?;
        // it owns the state from here on, so only its end gives it back
        channel.expect(SERVING).await
    }

    async fn prepare(
        &self,
        channel: &Channel,
        sealed: &mut Sealed<'_>,
    ) -> Result<(), UpgradeError> {
        channel.admit(rustix::process::geteuid().as_raw())?;
        // who connects and says nothing must not keep out who waits behind it
        let greeted = timeout(GREETING, channel.expect(HELLO)).await;
        greeted.unwrap_or(Err(UpgradeError::Silent))?;
        self.hand_sockets(channel).await?;
        channel.expect(SEAL).await?;
        sealed.seal().await?;
        channel.say(SEALED).await?;
        channel.expect(READY).await
    }

    async fn hand_sockets(&self, channel: &Channel) -> Result<(), UpgradeError> {
        let data: Vec<_> = self.data.iter().filter_map(Weak::upgrade).collect();
        let mut word = SOCKETS.to_owned();
        let mut sockets = Vec::new();
        for listener in &data {
            word = format!("{word} {}", Place::Data.word());
            sockets.push(listener.as_fd());
        }
        word = format!("{word} {}", Place::Admin.word());
        sockets.push(self.admin.as_fd());
        Ok(channel.hand(&word, &sockets).await?)
    }
}

/// Waits until another process knocks at `door`, which is opened at `path` unless it is open.
///
/// What keeps this one from hearing it, such as a lack of descriptors, is told once and waited out:
/// the binary that ends a leak must not need a restart.
async fn knock(path: &Path, door: &mut Option<Door>) -> Channel {
    let mut told = false;
    loop {
        let error = match knocked(path, door).await {
            Ok(channel) => return channel,
            Err(error) => error,
        };
        if !std::mem::replace(&mut told, true) {
            let path = path.display();
            tracing::warn!(%error, %path, "no other process can take over from this one, trying again");
        }
        sleep(PAUSE).await;
    }
}

async fn knocked(path: &Path, door: &mut Option<Door>) -> io::Result<Channel> {
    let door = match door {
        Some(door) => door,
        None => door.insert(Door::open(path)?),
    };
    let (stream, _) = door.listener.accept().await?;
    Ok(Channel::new(stream))
}

/// How long to wait after an error: no load, and short for who upgrades.
const PAUSE: Duration = Duration::from_secs(1);

/// How long who has connected may take until it says who it is.
const GREETING: Duration = Duration::from_secs(3);

/// The control plane while another process reads its state. Dropped, it takes changes again.
struct Sealed<'a> {
    control: &'a Control,
    sealed: bool,
}

impl<'a> Sealed<'a> {
    fn new(control: &'a Control) -> Self {
        Self {
            control,
            sealed: false,
        }
    }

    async fn seal(&mut self) -> Result<(), UpgradeError> {
        let control = self.control.clone();
        self.sealed = true;
        let sealed = spawn_blocking(move || control.seal()).await;
        sealed
            .map_err(io::Error::other)?
            .map_err(UpgradeError::State)
    }

    /// The state belongs to the other process.
    fn keep(mut self) {
        self.sealed = false;
    }

    /// The state is this process's again, and so is the file.
    async fn open(mut self) {
        if !std::mem::take(&mut self.sealed) {
            return;
        }
        let control = self.control.clone();
        match spawn_blocking(move || control.unseal()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = with_causes(&error);
                tracing::error!(error, "the state is not kept after an upgrade that failed");
            }
            Err(error) => tracing::error!(%error, "the state is not kept"),
        }
    }
}

impl Drop for Sealed<'_> {
    fn drop(&mut self) {
        if self.sealed {
            self.control.reopen();
        }
    }
}

/// The socket that a new process knocks at. Dropped, it is gone from the disk.
struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    fn open(path: &Path) -> io::Result<Self> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                // whoever still answers has the state file as well, which only an operator can end
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    return Err(error);
                }
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
        })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the upgrade socket was removed already");
        }
    }
}
