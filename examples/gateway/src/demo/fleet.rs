//! The endpoints of the demo: three of each commit, on free ports of the loopback interface.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::{net::TcpListener, task::JoinSet};
use tower_affinity::GroupIdentityLayer;

use super::flow::{A, B, C, Graph, router};

const EACH: usize = 3;

/// Running endpoints; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Fleet {
    groups: Vec<(&'static str, Vec<SocketAddr>)>,
    _servers: JoinSet<io::Result<()>>,
}

impl Fleet {
    pub(crate) async fn start() -> io::Result<Self> {
        let mut servers = JoinSet::new();
        let mut groups = Vec::new();
        for graph in [&A, &B, &C] {
            groups.push((graph.commit, group(graph, &mut servers).await?));
        }
        Ok(Self {
            groups,
            _servers: servers,
        })
    }

    /// Where a commit is served; nowhere if it is none of the demo's.
    pub(crate) fn endpoints(&self, commit: &str) -> &[SocketAddr] {
        self.groups
            .iter()
            .find(|(name, _)| *name == commit)
            .map_or(&[], |(_, endpoints)| endpoints)
    }
}

async fn group(
    graph: &'static Graph,
    servers: &mut JoinSet<io::Result<()>>,
) -> io::Result<Vec<SocketAddr>> {
    // a request that was meant for another commit never reaches the flow
    let identity = GroupIdentityLayer::stamped(Some(graph.commit)).map_err(io::Error::other)?;
    let mut endpoints = Vec::new();
    for number in 1..=EACH {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        endpoints.push(listener.local_addr()?);
        let app = router(graph, &format!("{}-{number}", graph.commit)).layer(identity.clone());
        servers.spawn(axum::serve(listener, app).into_future());
    }
    Ok(endpoints)
}
