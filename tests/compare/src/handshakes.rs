//! Requests on new connections over TLS.

use std::sync::Arc;
use std::time::{Duration, Instant};

use affinity_tests::tls::{Pair, TlsClient};
use rustls::HandshakeKind;
use tokio::task::JoinSet;

use crate::load::{Client, Faults};
use crate::pods::GROUPS;
use crate::proxies::Running;
use crate::table::Cell;

/// How many clients connect at a time.
const CLIENTS: usize = 8;

/// Whether clients come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// Each connection is somebody's first.
    Full,
    /// All but the first of each client resume its session.
    Resumed,
}

/// What connections cost a proxy, each with one request.
pub(crate) fn measure(
    handshake: Handshake,
    proxy: &Running,
    client: &Client,
    certificate: &Pair,
    span: Duration,
) -> Cell {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let work = Work {
        handshake,
        client: client.clone(),
        certificate: certificate.clone(),
        address: proxy.address,
    };
    let work = Arc::new(work);
    let (before, start) = (proxy.cpu(), Instant::now());
    let (answers, faults) = runtime.block_on(work.all(start + span));
    let (took, spent) = (start.elapsed(), proxy.cpu() - before);
    Cell {
        cpu: spent.as_secs_f64() * 1e6 / answers as f64,
        rate: answers as f64 / took.as_secs_f64(),
        latencies: None,
        faults,
    }
}

struct Work {
    handshake: Handshake,
    client: Client,
    certificate: Pair,
    address: std::net::SocketAddr,
}

impl Work {
    /// How many answers came until then, and how many were wrong.
    async fn all(self: Arc<Self>, until: Instant) -> (u64, Faults) {
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            clients.spawn(Arc::clone(&self).one(until));
        }
        let mut sum = (0, Faults::default());
        for (answers, faults) in clients.join_all().await {
            sum.0 += answers;
            sum.1 += faults;
        }
        sum
    }

    async fn one(self: Arc<Self>, until: Instant) -> (u64, Faults) {
        let (mut answers, mut faults) = (0, Faults::default());
        let mut tls = self.tls();
        let pin = self.client.pin.as_deref().unwrap_or_default();
        while Instant::now() < until {
            let mut connection = tls.connect(self.address).await;
            let answer = connection.get("/", &[("cookie", pin)]).await;
            let group = answer
                .headers()
                .get("x-group")
                .and_then(|group| group.to_str().ok());
            let group = GROUPS.iter().position(|name| Some(*name) == group);
            faults.status += u64::from(answer.status() != 200);
            faults.group += u64::from(group != self.client.group);
            let resumed = connection.handshake == HandshakeKind::Resumed;
            match self.handshake {
                Handshake::Full => tls = self.tls(),
                Handshake::Resumed => {
                    assert!(
                        resumed || answers == 0,
                        "{} resumes no session",
                        self.address
                    );
                }
            }
            answers += 1;
        }
        (answers, faults)
    }

    /// A client that has never been here.
    fn tls(&self) -> TlsClient {
        TlsClient::new(&[&self.certificate], &["http/1.1"])
    }
}
