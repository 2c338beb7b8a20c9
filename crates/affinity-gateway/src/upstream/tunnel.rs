//! From a `101` on: bytes in both directions until both sides are done, or their group is cut.

use http::Extensions;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tower_affinity::balance::{Cut, Lease, StreamCut};

use crate::serve::Tunnels;

/// The client's side of a switch of protocols that was asked for and is not yet agreed to.
///
/// Dropped without [`open`](Self::open) it leaves the connection what it was, so that bytes which
/// the client sent early are its next request and never reach the endpoint.
#[derive(Debug)]
pub(super) struct Handover {
    pub(super) client: OnUpgrade,
    /// Whatever counts the request as in flight is in here.
    pub(super) held: Extensions,
    pub(super) tunnels: Tunnels,
}

impl Handover {
    /// Copies until both sides have ended or the lease among `held` is cut. `held` lives exactly as
    /// long.
    pub(super) fn open(self, endpoint: OnUpgrade) {
        let Self {
            client,
            held,
            tunnels,
        } = self;
        let cut = held.get::<Lease>().cloned().map(Cut::of);
        tunnels.spawn(async move {
            let copied = copy(client, endpoint);
            let ended = match cut {
                None => copied.await,
                Some(cut) => tokio::select! {
                    ended = copied => ended,
                    () = cut => Err(StreamCut.into()),
                },
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "tunnel ended with an error");
            }
            drop(held);
        });
    }
}

async fn copy(
    client: OnUpgrade,
    endpoint: OnUpgrade,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut endpoint = TokioIo::new(endpoint.await?);
    let mut client = TokioIo::new(client.await?);
    copy_bidirectional(&mut client, &mut endpoint).await?;
    Ok(())
}
