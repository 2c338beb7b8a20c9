//! [`Reserved`]: an address that is taken before it is listened on.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use rustix::net::sockopt::set_socket_reuseport;
use tokio::net::TcpSocket;

use crate::start_error::StartError;
use crate::upgrade::fits;

/// An address of this process on which nobody listens yet: connections are refused, so that who
/// balances over several gateways goes elsewhere.
#[derive(Debug)]
pub(crate) struct Reserved {
    sockets: Sockets,
    address: SocketAddr,
    key: &'static str,
}

#[derive(Debug)]
enum Sockets {
    Own(TcpSocket),
    /// Another process listens on them, so that they have queues already.
    Handed(Vec<TcpListener>),
}

/// Sockets of one address that are listened on, at least one. The kernel spreads connections over
/// them.
#[derive(Debug)]
pub(crate) struct Listening {
    sockets: Vec<TcpListener>,
    address: SocketAddr,
    key: &'static str,
}

/// How many connections may wait to be accepted, as everywhere in tokio.
const BACKLOG: u32 = 1024;

impl Reserved {
    /// Takes the address that the setting `key` names.
    pub(crate) fn new(address: SocketAddr, key: &'static str) -> Result<Self, StartError> {
        let taken = || {
            let socket = bound(address, false)?;
            Ok((socket.local_addr()?, socket))
        };
        let (address, socket) = taken().map_err(|source| failed(address, key, source))?;
        Ok(Self {
            sockets: Sockets::Own(socket),
            address,
            key,
        })
    }

    /// Takes sockets that another process listens on, if they are where the setting `key` says.
    pub(crate) fn handed(
        sockets: Vec<OwnedFd>,
        wanted: SocketAddr,
        key: &'static str,
    ) -> Result<Self, StartError> {
        let mut found = None;
        let mut listeners = Vec::new();
        for socket in sockets {
            let listener = TcpListener::from(socket);
            let taken = || {
                listener.set_nonblocking(true)?;
                listener.local_addr()
            };
            let address = taken().map_err(|source| failed(wanted, key, source))?;
            // where any port will do, all have the same one
            fits(key, found.unwrap_or(wanted), address)?;
            found = Some(address);
            listeners.push(listener);
        }
        Ok(Self {
            sockets: Sockets::Handed(listeners),
            address: found.unwrap_or(wanted),
            key,
        })
    }

    /// The address; the real port if 0 was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections are queued from now on.
    pub(crate) fn listen(self) -> Result<Listening, StartError> {
        let (address, key) = (self.address, self.key);
        let sockets = match self.sockets {
            Sockets::Own(socket) => {
                let listener = socket.listen(BACKLOG).and_then(|socket| socket.into_std());
                vec![listener.map_err(|source| failed(address, key, source))?]
            }
            Sockets::Handed(listeners) => listeners,
        };
        Ok(Listening {
            sockets,
            address,
            key,
        })
    }
}

impl Listening {
    /// At least so many sockets.
    ///
    /// The first one takes the address for itself alone and shares it only now: two processes that
    /// are given the same port by mistake must not share it, as they would if both had asked for
    /// that from the beginning.
    ///
    /// If that fails, the sockets are those that they were.
    pub(crate) fn spread(&mut self, count: usize) -> Result<(), StartError> {
        let more = count.saturating_sub(self.sockets.len());
        let spread = || {
            for socket in self.sockets.iter().filter(|_| more > 0) {
                set_socket_reuseport(socket, true)?;
            }
            let further = (0..more).map(|_| bound(self.address, true)?.listen(BACKLOG)?.into_std());
            further.collect::<io::Result<Vec<_>>>()
        };
        let further = spread().map_err(|source| failed(self.address, self.key, source))?;
        self.sockets.extend(further);
        Ok(())
    }

    /// The sockets; they do not block.
    pub(crate) fn into_sockets(self) -> Vec<TcpListener> {
        self.sockets
    }
}

fn bound(address: SocketAddr, shared: bool) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // connections of a gateway that has just ended do not hold its address
    socket.set_reuseaddr(true)?;
    if shared {
        socket.set_reuseport(true)?;
    }
    socket.bind(address)?;
    Ok(socket)
}

fn failed(address: SocketAddr, key: &'static str, source: io::Error) -> StartError {
    StartError::Listen {
        address,
        key,
        source,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn local() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    #[tokio::test]
    async fn connections_are_spread_over_all_sockets_of_the_address() {
        let reserved = Reserved::new(local(), "listen.address").unwrap();
        let address = reserved.address();
        let mut listening = reserved.listen().unwrap();
        listening.spread(3).unwrap();
        let sockets = listening.into_sockets();
        assert_eq!(sockets.len(), 3);
        let clients: Vec<_> = (0..96)
            .map(|_| std::net::TcpStream::connect(address).unwrap())
            .collect();
        let accepted = |socket: &TcpListener| std::iter::from_fn(|| socket.accept().ok()).count();
        let each: Vec<usize> = sockets.iter().map(accepted).collect();
        assert_eq!(each.iter().sum::<usize>(), clients.len(), "{each:?}");
        assert!(!each.contains(&0), "a socket got nothing: {each:?}");
    }

    #[tokio::test]
    async fn an_address_that_is_spread_is_taken_for_everybody_else() {
        let reserved = Reserved::new(local(), "listen.address").unwrap();
        let address = reserved.address();
        let mut listening = reserved.listen().unwrap();
        listening.spread(2).unwrap();
        let second = Reserved::new(address, "listen.address");
        let error = second.unwrap_err();
        assert!(
            matches!(&error, StartError::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse),
            "{error}"
        );
    }
}
