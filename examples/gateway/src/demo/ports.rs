//! Fixed ports, looked at before the show begins: a taken one is told at once and in one line.

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

use thiserror::Error;

use super::gateway::Places;

/// Why a port cannot be had.
#[derive(Debug, Error)]
pub(crate) enum Unavailable {
    #[error(
        "port {} of {} is taken by another program; end that one (on Linux `ss -ltnp 'sport = \
         :{}'` may tell which it is), or run `gateway demo --once`, which takes free ports",
        .0.port(), .0.ip(), .0.port()
    )]
    Taken(SocketAddr),
    #[error("cannot listen on {0}")]
    Refused(SocketAddr, #[source] io::Error),
}

/// Whether both ports are free at this moment.
pub(crate) fn check(places: Places) -> Result<(), Unavailable> {
    for address in [places.site, places.admin] {
        match TcpListener::bind(address) {
            Ok(_) => {}
            Err(fault) if fault.kind() == io::ErrorKind::AddrInUse => {
                return Err(Unavailable::Taken(address));
            }
            Err(fault) => return Err(Unavailable::Refused(address, fault)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_taken_port_is_named_with_a_way_out() {
        let holder = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = holder.local_addr().unwrap().port();
        let message = check(Places::loopback(0, port)).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("port {port} of 127.0.0.1 is taken")),
            "{message}"
        );
        assert!(message.contains("gateway demo --once"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn a_free_port_stays_free_after_the_look() {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        for _ in 0..2 {
            check(Places::loopback(0, port)).unwrap();
        }
    }
}
