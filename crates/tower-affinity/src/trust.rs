//! Whose word on affinity counts.

use http::Extensions;

use crate::{Network, PeerAddr};

/// Whose headers are believed: those of a gateway, and of nobody else.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Trust {
    /// Whoever can send a request here: only where the network itself lets nobody but the gateways
    /// through.
    Everyone,
    /// Peers in one of these networks, by the [`PeerAddr`] of a request; a request without one is from
    /// nobody.
    Peers(Vec<Network>),
}

impl Trust {
    /// Whether whoever sent a request is believed.
    pub(crate) fn holds(&self, extensions: &Extensions) -> bool {
        match self {
            Self::Everyone => true,
            Self::Peers(networks) => extensions.get::<PeerAddr>().is_some_and(|peer| {
                let address = peer.0.ip();
                networks.iter().any(|network| network.contains(address))
            }),
        }
    }
}
