//! What the leaf is told of a request besides its head and body.

use std::time::Duration;

use http::Extensions;
use tower_affinity::{PeerAddr, balance::Again};

use crate::{scheme::Scheme, serve::Interim};

/// What the extensions of a request say to the leaf.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) peer: Option<PeerAddr>,
    pub(super) scheme: Scheme,
    /// Who hears what an endpoint says ahead of its answer.
    pub(super) interim: Option<Interim>,
    /// How long ago the first attempt began: all attempts share the time that the request has.
    pub(super) elapsed: Duration,
}

impl Told {
    pub(super) fn by(extensions: &Extensions) -> Self {
        let again = extensions.get().map(|again: &Again| again.elapsed);
        Self {
            peer: extensions.get().copied(),
            scheme: extensions.get().copied().unwrap_or_default(),
            interim: extensions.get().cloned(),
            elapsed: again.unwrap_or_default(),
        }
    }
}
