//! What goes on, what is bounded, and to whom.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod bounds;
mod destinations;
#[cfg(feature = "tokio")]
mod scope;

use http::HeaderMap;
use http::header::HeaderValue;

use super::Propagation;
use crate::fixtures::Metrics;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What a request with these headers takes along, and what of it was counted as dropped.
fn handed_on(headers: &[(&'static str, &[u8])]) -> (HeaderMap, Vec<String>) {
    let mut inbound = HeaderMap::new();
    for (name, value) in headers {
        inbound.append(*name, HeaderValue::from_bytes(value).unwrap());
    }
    let metrics = Metrics::new();
    let context = Propagation::from_headers(&inbound, &metrics.recorder);
    let mut outgoing = HeaderMap::new();
    context.apply(&mut outgoing);
    let dropped = metrics.take().into_keys();
    (outgoing, dropped.collect())
}

fn dropped(what: &str) -> Vec<String> {
    vec![format!("affinity_propagation_dropped_total{{what={what}}}")]
}
