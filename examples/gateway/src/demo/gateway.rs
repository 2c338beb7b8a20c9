//! What the demo needs of a gateway that runs in its process.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use super::{board::Affinity, fleet::Fleet, operator::Operator};

/// Where a gateway listens. Port 0 takes a free one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) site: SocketAddr,
    pub(crate) admin: SocketAddr,
}

/// A running gateway and its control side.
pub(crate) trait Gateway: Operator + Sized {
    /// Why it did not start.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Starts with commit A as its only group, so the stable one.
    fn open(
        affinity: Affinity,
        fleet: &Fleet,
        places: Places,
    ) -> impl Future<Output = Result<Self, Self::Error>>;

    /// Where it really listens.
    fn places(&self) -> Places;

    /// The file with the token of its admin side.
    fn token_file(&self) -> PathBuf;

    /// Ends it; requests in flight are answered first.
    fn close(self) -> impl Future<Output = ()>;
}

impl Places {
    /// Free ports of the loopback interface.
    pub(crate) fn free() -> Self {
        Self::loopback(0, 0)
    }

    pub(crate) fn loopback(site: u16, admin: u16) -> Self {
        let [site, admin] = [site, admin].map(|port| (Ipv4Addr::LOCALHOST, port).into());
        Self { site, admin }
    }
}
