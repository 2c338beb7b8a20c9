//! [`Reserved`]: an address that is taken before it is listened on.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use tokio::net::{TcpListener, TcpSocket};

use crate::start_error::StartError;
use crate::upgrade::fits;

/// An address of this process on which nobody listens yet: connections are refused, so that who
/// balances over several gateways goes elsewhere.
#[derive(Debug)]
pub(crate) struct Reserved {
    socket: Socket,
    address: SocketAddr,
    key: &'static str,
}

#[derive(Debug)]
enum Socket {
    Own(TcpSocket),
    /// Another process listens on it, so that it has a queue already.
    Handed(TcpListener),
}

/// How many connections may wait to be accepted, as everywhere in tokio.
const BACKLOG: u32 = 1024;

impl Reserved {
    /// Takes the address that the setting `key` names.
    pub(crate) fn new(address: SocketAddr, key: &'static str) -> Result<Self, StartError> {
        let taken = || {
            let socket = match address {
                SocketAddr::V4(_) => TcpSocket::new_v4()?,
                SocketAddr::V6(_) => TcpSocket::new_v6()?,
            };
            // connections of a gateway that has just ended do not hold its address
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            Ok((socket.local_addr()?, socket))
        };
        let (address, socket) = taken().map_err(|source| failed(address, key, source))?;
        Ok(Self {
            socket: Socket::Own(socket),
            address,
            key,
        })
    }

    /// Takes a socket that another process listens on, if it is where the setting `key` says.
    pub(crate) fn handed(
        socket: OwnedFd,
        wanted: SocketAddr,
        key: &'static str,
    ) -> Result<Self, StartError> {
        let taken = || {
            let listener = std::net::TcpListener::from(socket);
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = taken().map_err(|source| failed(wanted, key, source))?;
        fits(key, wanted, address)?;
        Ok(Self {
            socket: Socket::Handed(listener),
            address,
            key,
        })
    }

    /// The address; the real port if 0 was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections are accepted from now on.
    pub(crate) fn listen(self) -> Result<TcpListener, StartError> {
        let listener = match self.socket {
            Socket::Own(socket) => socket.listen(BACKLOG),
            Socket::Handed(listener) => Ok(listener),
        };
        listener.map_err(|source| failed(self.address, self.key, source))
    }
}

fn failed(address: SocketAddr, key: &'static str, source: io::Error) -> StartError {
    StartError::Listen {
        address,
        key,
        source,
    }
}
