//! [`Propagation`]: what goes on with a session to the services further down.

use std::fmt;
use std::sync::Arc;

use http::header::{Entry, HeaderMap, HeaderValue};
use tower_affinity_core::MAX_TOKEN;

use super::{baggage, trace};
use crate::carrier::header;
use crate::record::{Dropped, Recorder};

/// What goes on with a session to the services further down: its pin, the trace that it is part of,
/// and the baggage of that. Cheap to clone.
///
/// It is an extension of requests in scopes with [`propagate`](crate::wire::Scope::propagate), and
/// with the feature `axum` an extractor. A request to another service takes it along through a
/// [`PropagateLayer`](crate::PropagateLayer), or by [`apply`](Self::apply).
#[derive(Clone, Default)]
pub struct Propagation(Option<Arc<Carried>>);

#[derive(Default)]
struct Carried {
    pin: Option<HeaderValue>,
    parent: Option<HeaderValue>,
    state: Option<HeaderValue>,
    baggage: Option<HeaderValue>,
}

/// What the endpoint gets under the name of our header: a request extension of scopes that
/// propagate, for the layer that sets names.
#[derive(Clone)]
pub(crate) struct ForEndpoint(pub(crate) HeaderValue);

impl Propagation {
    /// That of a request that a gateway has sent on, with the pin from its `affinity-pin`.
    ///
    /// Prefer a [`FromGatewayLayer`](crate::FromGatewayLayer), which knows whom to believe: this
    /// believes everybody, and is only for services that nobody but a gateway of ours can reach,
    /// which removes what clients send under this name. What is dropped is counted by `recorder`.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap, recorder: &Recorder) -> Self {
        let mut pins = headers.get_all(header::PIN).iter();
        let pin = match (pins.next(), pins.next()) {
            (Some(pin), None) if (1..=MAX_TOKEN).contains(&pin.len()) => Some(pin.clone()),
            (None, _) => None,
            _ => {
                recorder.not_propagated(Dropped::Pin);
                None
            }
        };
        Self::of(pin, headers, recorder)
    }

    /// That of a session's request.
    pub(crate) fn of(pin: Option<HeaderValue>, headers: &HeaderMap, recorder: &Recorder) -> Self {
        let pin = pin.map(|mut pin| {
            pin.set_sensitive(true);
            pin
        });
        let parent = trace::parent(headers);
        // a state says nothing without its parent
        let state = parent.value.as_ref().map(|_| trace::state(headers));
        let baggage = baggage::of(headers);
        let state_dropped = state.as_ref().is_some_and(|state| state.dropped);
        for (dropped, what) in [
            (parent.dropped, Dropped::Traceparent),
            (state_dropped, Dropped::Tracestate),
            (baggage.dropped, Dropped::Baggage),
        ] {
            if dropped {
                recorder.not_propagated(what);
            }
        }
        Self(Some(Arc::new(Carried {
            pin,
            parent: parent.value,
            state: state.and_then(|state| state.value),
            baggage: baggage.value,
        })))
    }

    /// Whether there is a session's pin in it.
    #[must_use]
    pub fn has_pin(&self) -> bool {
        self.carried().is_some_and(|carried| carried.pin.is_some())
    }

    /// Writes it on the headers of a request to another service.
    ///
    /// A trace or baggage that the request has already stays: whoever set it knows the very span that
    /// asks. A pin that it has already stays as well, beside this one: it may be that service's own.
    pub fn apply(&self, headers: &mut HeaderMap) {
        let Some(carried) = self.carried() else {
            return;
        };
        if let Some(pin) = &carried.pin
            && !headers.get_all(header::PIN).iter().any(|has| has == pin)
        {
            headers.append(header::PIN, pin.clone());
        }
        if let Some(parent) = &carried.parent
            && let Entry::Vacant(vacant) = headers.entry(trace::PARENT)
        {
            vacant.insert(parent.clone());
            match &carried.state {
                Some(state) => drop(headers.insert(trace::STATE, state.clone())),
                None => drop(headers.remove(trace::STATE)),
            }
        }
        if let Some(value) = &carried.baggage
            && let Entry::Vacant(vacant) = headers.entry(baggage::BAGGAGE)
        {
            vacant.insert(value.clone());
        }
    }

    fn carried(&self) -> Option<&Carried> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Propagation {
    /// Without any value: none has a place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |value: fn(&Carried) -> &Option<HeaderValue>| {
            self.carried()
                .is_some_and(|carried| value(carried).is_some())
        };
        f.debug_struct("Propagation")
            .field("pin", &has(|carried| &carried.pin))
            .field("trace", &has(|carried| &carried.parent))
            .field("baggage", &has(|carried| &carried.baggage))
            .finish_non_exhaustive()
    }
}
