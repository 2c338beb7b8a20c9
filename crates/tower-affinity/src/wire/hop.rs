//! What a peer has decided, on the wire.

use std::sync::Arc;

use http::Request;
use http::header::{Entry, HeaderName};
use tower_affinity_core::{Decision, Fault, Presented as Shows, Timestamp};

use super::grant::Grant;
use super::hint;
use super::read::{Came, Presented};
use super::scope::Scope;
use super::sent::Sent;
use super::shared::Wire;
use super::shown::Carries;
use crate::carrier::cookie;

/// The header that carries a mark from one process of a service to another.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("affinity-hop");

/// The request came with a mark that does not count: an extension, so that nobody sends it on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unmarked;

impl Wire {
    /// Takes the mark of a peer off. What is none is counted, and the request is a client's that
    /// nobody sends on: a peer whose key or clock is another has sent it, or a client has made it up.
    pub(super) fn hop<B>(&self, request: &mut Request<B>, at: Timestamp) -> Option<Box<Decision>> {
        let headers = request.headers_mut();
        // an entry makes room even for what is not there
        if !headers.contains_key(HEADER) {
            return None;
        }
        let Entry::Occupied(entry) = headers.entry(HEADER) else {
            return None;
        };
        let mut marks = entry.remove_entry_mult().1;
        if !self.takes_hops {
            return None;
        }
        let opened = match (marks.next(), marks.next()) {
            (Some(mark), None) => self.codec.open_hop(mark.as_bytes(), at),
            _ => Err(Fault::Duplicates),
        };
        drop(marks);
        match opened {
            Ok(decision) => Some(Box::new(decision)),
            Err(fault) => {
                tracing::debug!(cause = ?fault, "mark of a peer does not count");
                self.recorder.hop_rejected(fault);
                request.extensions_mut().insert(Unmarked);
                None
            }
        }
    }

    /// A request that a peer has decided: no pin of it is read here, and none is written.
    pub(super) fn marked<B>(
        &self,
        request: &mut Request<B>,
        (nth, scope): (Option<usize>, Option<Arc<Scope>>),
        at: Timestamp,
        decision: Box<Decision>,
    ) -> (Presented, Came) {
        let propagates = scope.as_ref().is_some_and(|scope| scope.propagates());
        let headers = request.headers_mut();
        let carries = propagates.then(|| Box::new(Carries::of_peer(headers)));
        let rest = cookie::find(headers, &self.own_names).rest();
        self.remove_ours(rest, Sent::ANY, headers);
        let presented = Presented {
            shows: Shows::default(),
            scope,
            at,
            navigation: false,
            visit: None,
            hop: Some(decision),
            carries,
            sent: Sent::ANY,
        };
        let came = Came {
            scope: nth,
            carrier: None,
            at,
            method: request.method().clone(),
            grant: Grant::default(),
            hint: hint::Said::default(),
        };
        (presented, came)
    }
}
