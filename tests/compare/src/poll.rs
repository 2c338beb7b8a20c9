//! Sockets that one thread watches.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

/// How many events are taken at a time.
const EVENTS: usize = 512;

/// What tells which sockets can be read or written.
pub(crate) struct Poll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poll {
    pub(crate) fn new() -> Self {
        Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll is there"),
            events: Vec::with_capacity(EVENTS),
        }
    }

    /// Watches a socket, and tells of each change once.
    pub(crate) fn watch(&self, socket: impl AsFd, name: u64) {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP;
        let flags = flags | epoll::EventFlags::ET;
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(name), flags)
            .expect("a socket can be watched");
    }

    /// Waits at most so long; the names of what has changed.
    pub(crate) fn wait(&mut self, within: Option<Duration>) -> Vec<u64> {
        let within = within.map(|within| Timespec::try_from(within).expect("a short time"));
        self.events.clear();
        let space = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, space, within.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("epoll: {error}"),
        }
        self.events.iter().map(|event| event.data.u64()).collect()
    }
}

/// Begins to connect to an address of this machine, from the `nth` of its loopback addresses: so many
/// short connections would use up the ports of one.
pub(crate) fn connect(to: SocketAddr, nth: u8) -> io::Result<TcpStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    net::bind(
        &socket,
        &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, nth), 0),
    )?;
    match net::connect(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}
