//! What the services of one [`PinLayer`](super::PinLayer) share.

use std::sync::Arc;

use tower_affinity_core::{Clock, DrawSalt, PinCodec};

use super::scope::Scope;
use crate::callers::Callers;
use crate::carrier::CookieAttributes;
use crate::carrier::cookie::Names;
use crate::misplaced::Misplaced;
use crate::record::Recorder;

/// Everything that reading and writing pins depends on. `read` and `write` say what it does.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) codec: Arc<PinCodec>,
    pub(super) salt: DrawSalt,
    pub(super) scopes: Vec<Arc<Scope>>,
    pub(super) carriers: Carriers,
    pub(super) callers: Option<Arc<Callers>>,
    pub(super) cookie: CookieAttributes,
    pub(super) former_cookies: Vec<CookieAttributes>,
    /// The names under which our cookie is read: the present one first.
    pub(super) cookie_names: Names<'static>,
    /// All names of ours, those of pins and then those of overrides: neither side's application sees
    /// or sets one.
    pub(super) own_names: Names<'static>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) recorder: Recorder,
    /// Whether marks of peers are read; they are removed in any case.
    pub(super) takes_hops: bool,
    pub(super) misplaced: Misplaced,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Carriers {
    pub(super) cookie: bool,
    pub(super) header: bool,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire")
            .field("codec", &self.codec)
            .field("scopes", &self.scopes)
            .field("carriers", &self.carriers)
            .field("cookie", &self.cookie)
            .finish_non_exhaustive()
    }
}
