//! What a request needs to go to a peer, and its answer to come back.

use std::sync::Arc;

use http::header::HeaderValue;
use http::{HeaderMap, HeaderName, Request, Response};
use tower_affinity_core::{Clock, GroupName, PinCodec};

use super::hops;
use crate::record::{PeerOutcome, Recorder};
use crate::wire::HOP;
use crate::{Affinity, PeerAddr, tag};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// What the services of one layer share.
pub(super) struct Sending {
    /// The group of this process.
    pub(super) group: GroupName,
    pub(super) codec: Arc<PinCodec>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) recorder: Recorder,
}

impl Sending {
    /// Makes the head of a request one for the peer. `None` if it cannot be marked, which no ring
    /// that signs pins makes happen.
    pub(super) fn prepare<B>(&self, request: &mut Request<B>, affinity: &Affinity) -> Option<()> {
        let mark = self.codec.seal_hop(affinity.decision(), self.clock.now())?;
        let mut mark = HeaderValue::from_maybe_shared(bytes::Bytes::from(mark)).ok()?;
        mark.set_sensitive(true);
        let peer = request.extensions().get::<PeerAddr>().copied();
        // before our names are set: `Connection: affinity-group` must not take them away
        hops::strip(request.headers_mut());
        tag::tell(request, &mut HeaderValue::from_static(""));
        let headers = request.headers_mut();
        headers.insert(HOP, mark);
        if let Some(peer) = peer {
            came_from(headers, peer);
        }
        Some(())
    }

    /// What a peer has answered, as if it had been answered here.
    pub(super) fn restore<R>(response: &mut Response<R>) {
        let headers = response.headers_mut();
        hops::strip(headers);
        tag::remove_answered(headers);
    }
}

/// Adds who sent the request: what is there before it was said by others, as ever.
fn came_from(headers: &mut HeaderMap, PeerAddr(peer): PeerAddr) {
    let mut chain = Vec::new();
    for hops in headers.get_all(X_FORWARDED_FOR) {
        chain.extend_from_slice(hops.as_bytes());
        chain.extend_from_slice(b", ");
    }
    chain.extend_from_slice(peer.ip().to_canonical().to_string().as_bytes());
    // bytes of header values and an address: always a header value
    if let Ok(chain) = HeaderValue::from_maybe_shared(bytes::Bytes::from(chain)) {
        headers.insert(X_FORWARDED_FOR, chain);
    }
}

/// Counts a forwarded request when it ends, however that is.
pub(super) struct Underway {
    sending: Arc<Sending>,
    group: GroupName,
    outcome: PeerOutcome,
}

impl Underway {
    pub(super) fn new(sending: Arc<Sending>, group: GroupName) -> Self {
        Self {
            sending,
            group,
            outcome: PeerOutcome::Abandoned,
        }
    }

    /// It has ended so.
    pub(super) fn end(&mut self, outcome: PeerOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.sending.recorder.peer(&self.group, self.outcome);
    }
}
