//! A TCP proxy in front of an endpoint that does to connections what networks do.
//!
//! What it does is a [`Fault`]; it can be changed at any time and holds for open connections too.
//! What is random in it is drawn from a seed and the connection's number.

mod fault;
mod pump;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

pub use self::fault::{End, Fault, How, Way};

/// A running proxy. Dropping it ends it and cuts its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    fault: watch::Sender<Fault>,
    endpoint: watch::Sender<SocketAddr>,
    accepted: Arc<AtomicU64>,
    task: AbortHandle,
}

impl Proxy {
    /// Starts one that passes everything on to `endpoint`.
    ///
    /// # Panics
    ///
    /// If there is no free address.
    pub async fn to(endpoint: SocketAddr) -> Self {
        let at = SocketAddr::from(([127, 44, 0, 2], 0));
        let listener = TcpListener::bind(at).await.expect("a free address");
        let address = listener.local_addr().expect("a listener has an address");
        let fault = watch::Sender::new(Fault::default());
        let endpoint = watch::Sender::new(endpoint);
        let accepted = Arc::new(AtomicU64::new(0));
        let (faults, count) = (fault.subscribe(), Arc::clone(&accepted));
        let task = tokio::spawn(accept(listener, endpoint.subscribe(), faults, count));
        let task = task.abort_handle();
        Self {
            address,
            fault,
            endpoint,
            accepted,
            task,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it does from now on, to open connections too.
    pub fn inject(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Passes on to another endpoint from now on, as a name or an address that is given to another
    /// server does: open connections end.
    pub fn turn_to(&self, endpoint: SocketAddr) {
        self.endpoint.send_replace(endpoint);
    }

    /// How many connections it has accepted.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    endpoint: watch::Receiver<SocketAddr>,
    fault: watch::Receiver<Fault>,
    accepted: Arc<AtomicU64>,
) {
    // connections end with the proxy
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.expect("a proxy can accept");
        let number = accepted.fetch_add(1, Ordering::Relaxed);
        let (fault, mut endpoint) = (fault.clone(), endpoint.clone());
        let to = *endpoint.borrow_and_update();
        connections.spawn(async move {
            tokio::select! {
                () = connect(client, to, number, fault) => {}
                // a proxy that is gone turns to nobody, and has ended this
                Ok(()) = endpoint.changed() => {}
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn connect(client: TcpStream, to: SocketAddr, number: u64, fault: watch::Receiver<Fault>) {
    client
        .set_nodelay(true)
        .expect("a socket takes its options");
    // where nobody listens the client sees its connection end
    if let Ok(server) = TcpStream::connect(to).await {
        server
            .set_nodelay(true)
            .expect("a socket takes its options");
        pump::both(client, server, number, fault).await;
    }
}
