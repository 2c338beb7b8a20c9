//! A service that runs: tonic's server around a router with the affinity layer.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tower_affinity::core::{
    AbortPolicy, AbortRequest, AlwaysReady, Change, Clock, NewGroup, Revision, Rollout, Weight,
};
use tower_affinity::{AffinityLayer, Rollouts, SystemClock};

use crate::{Failure, NEW, OLD, peer};

/// How old a session may get: the default of the layer.
const MAX_AGE: Duration = Duration::from_secs(4 * 60 * 60);

/// A running service. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    rollouts: Rollouts,
    serving: JoinHandle<()>,
}

impl Running {
    /// Serves these methods on a free port.
    pub(crate) async fn start(
        methods: Router,
        affinity: AffinityLayer,
        rollouts: Rollouts,
    ) -> Result<Self, Failure> {
        let routes = Routes::from(methods.layer(affinity).layer(peer::layer()));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = Server::builder()
            .add_routes(routes)
            .serve_with_incoming(TcpIncoming::from(listener));
        let serving = tokio::spawn(async move {
            // it has no end of its own
            drop(server.await);
        });
        Ok(Self {
            address,
            rollouts,
            serving,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Aborts a commit and ends its sessions: their next call is refused.
    ///
    /// # Errors
    ///
    /// If a rule refuses that.
    pub fn end_sessions_of(&self, group: &str) -> Result<(), Failure> {
        let group = group.parse()?;
        let request = AbortRequest {
            policy: Some(AbortPolicy::End),
            ..AbortRequest::default()
        };
        self.rollouts.update(|rollout| {
            let change = Change {
                revision: rollout.revision().next(),
                now: SystemClock::new().now(),
                max_age: MAX_AGE,
            };
            rollout.abort(&group, &request, &AlwaysReady, change)
        })?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Two commits with half of the sessions each.
///
/// # Errors
///
/// Never: that is a valid rollout.
pub fn halves() -> Result<Rollouts, Failure> {
    let now = SystemClock::new().now();
    let half = Weight::new(50)?;
    let groups = [
        NewGroup::active(OLD.parse()?, half).stable(),
        NewGroup::active(NEW.parse()?, half),
    ];
    Ok(Rollout::new(Revision(now.as_secs()), now, groups)?.into())
}
