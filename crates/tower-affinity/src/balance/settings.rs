//! What all requests of one [`GroupBalance`](super::GroupBalance) share.

use std::sync::Arc;

use super::groups::Groups;
use super::retries::Retries;
use crate::record::Recorder;
use crate::rollouts::Rollouts;

/// All of it but what speaks to endpoints.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) groups: Groups,
    pub(super) recorder: Recorder,
    pub(super) retries: Retries,
    pub(super) rollouts: Option<Rollouts>,
}

/// All of it. A request holds it by one handle: to count several up and down for each request would
/// cost most where many threads do.
pub(super) struct Shared<C> {
    pub(super) settings: Settings,
    pub(super) connect: Arc<C>,
}

impl<C> Clone for Shared<C> {
    fn clone(&self) -> Self {
        Self {
            settings: self.settings.clone(),
            connect: Arc::clone(&self.connect),
        }
    }
}
