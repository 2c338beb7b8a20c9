//! [`PropagateLayer`] and its settings.

use std::sync::Arc;

use tower_layer::Layer;

use super::destinations::{Destinations, InvalidDestination};
use super::service::Propagate;

/// Takes a session along on requests to other services; see the [module](super).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct PropagateLayer {
    destinations: Arc<Destinations>,
}

impl PropagateLayer {
    /// A layer for a client that speaks to services of one's own only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only requests to these take anything along: `host`, or `host:port`. By default all do that the
    /// client sends. A client that also speaks to others has to be told.
    ///
    /// # Errors
    ///
    /// If one has not that form.
    pub fn only_to<I, D>(self, destinations: I) -> Result<Self, InvalidDestination>
    where
        I: IntoIterator<Item = D>,
        D: AsRef<str>,
    {
        let these = destinations.into_iter().map(|text| text.as_ref().parse());
        let these = these.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            destinations: Arc::new(Destinations::Only(these)),
        })
    }
}

impl<S> Layer<S> for PropagateLayer {
    type Service = Propagate<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Propagate::new(inner, Arc::clone(&self.destinations))
    }
}
