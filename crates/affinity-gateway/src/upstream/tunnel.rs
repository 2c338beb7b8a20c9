//! After a switch of protocols: bytes in both directions until both sides are done, or the tunnel is
//! to end.

mod ending;
mod frames;

use std::time::Duration;

use http::{Extensions, Request, Response};
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio_util::sync::CancellationToken;
use tower_affinity::balance::{Cut, Lease, StreamCut, Tunnelled};
use tower_affinity::respond::UpstreamFault;

use self::ending::Ending;
use super::{UpstreamError, response, shared::Place, source::Source, switch::Switch};
use crate::serve::Tunnels;

/// How long a client may take to close its side of a tunnel that was asked to end.
const GOODBYE: Duration = Duration::from_secs(2);

/// The client's side of a switch of protocols that was asked for and is not yet agreed to.
///
/// Dropped without an agreement it leaves the connection what it was, so that bytes which
/// the client sent early are its next request and never reach the endpoint.
#[derive(Debug)]
pub(super) struct Handover {
    client: OnUpgrade,
    pub(super) switch: Switch,
    /// Whatever counts the request as in flight is in here.
    held: Extensions,
    tunnels: Tunnels,
}

impl Handover {
    /// `held` are the extensions of the request.
    pub(super) fn new(switch: Switch, held: Extensions, tunnels: Tunnels) -> Self {
        let mut request = Request::new(());
        *request.extensions_mut() = held;
        Self {
            client: hyper::upgrade::on(&mut request),
            switch,
            held: request.into_parts().0.extensions,
            tunnels,
        }
    }

    /// What is left of the answer's source, and a tunnel if the endpoint has agreed. An answer by
    /// which nothing is switched is an ordinary one.
    pub(super) fn answered(
        self,
        answer: &mut Response<Incoming>,
        source: Source,
    ) -> Result<Source, UpstreamError> {
        let (mut status, switch) = (answer.status(), self.switch.clone());
        if !switch.is_agreed(status, answer.headers()) {
            if switch.would_mislead(status) {
                return Err(UpstreamError::new(UpstreamFault::Declined));
            }
            response::fit(answer)?;
            return Ok(source);
        }
        let (source, place) = source.switched();
        self.open(hyper::upgrade::on(&mut *answer), place);
        switch.agree(&mut status, answer.headers_mut());
        *answer.status_mut() = status;
        answer.extensions_mut().insert(Tunnelled);
        Ok(source)
    }

    /// Copies until both sides have ended. Once the lease among `held` is cut, or the tunnel is
    /// asked to end, the client gets the end of the stream, before it a close frame if it speaks
    /// WebSocket, and a while to close its side. `held` and `place` live exactly as long.
    fn open(self, endpoint: OnUpgrade, place: Option<Place>) {
        let Self {
            client,
            switch,
            held,
            tunnels,
        } = self;
        let is_websocket = switch.is_websocket();
        let cut = held.get::<Lease>().cloned().map(Cut::of);
        let of = tunnels.clone();
        tunnels.spawn(|end| async move {
            let copied = copy(client, endpoint, is_websocket, &of, end.clone());
            let ended = tokio::select! {
                ended = copied => ended,
                () = over(cut, end) => Err(StreamCut.into()),
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "tunnel ended with an error");
            }
            drop((held, place));
        });
    }
}

/// Waits for the cut or the end, makes them one, and gives the client a while to go.
async fn over(cut: Option<Cut>, end: CancellationToken) {
    match cut {
        Some(cut) => tokio::select! {
            () = cut => end.cancel(),
            () = end.cancelled() => {}
        },
        None => end.cancelled().await,
    }
    tokio::time::sleep(GOODBYE).await;
}

async fn copy(
    client: OnUpgrade,
    endpoint: OnUpgrade,
    is_websocket: bool,
    tunnels: &Tunnels,
    end: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut endpoint = Ending::new(TokioIo::new(endpoint.await?), is_websocket, end);
    let mut client = tunnels.patient(TokioIo::new(client.await?));
    copy_bidirectional(&mut client, &mut endpoint).await?;
    Ok(())
}
