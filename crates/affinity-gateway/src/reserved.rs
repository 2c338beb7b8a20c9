//! [`Reserved`]: an address that is taken before it is listened on.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

use crate::start_error::StartError;

/// An address of this process on which nobody listens yet: connections are refused, so that who
/// balances over several gateways goes elsewhere.
#[derive(Debug)]
pub(crate) struct Reserved {
    socket: TcpSocket,
    address: SocketAddr,
    key: &'static str,
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
            socket,
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
        let listener = self.socket.listen(BACKLOG);
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
