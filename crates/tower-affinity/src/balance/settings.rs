//! What all requests of one [`GroupBalance`](super::GroupBalance) share.

use super::groups::Groups;
use super::retries::Retries;
use crate::record::Recorder;
use crate::rollouts::Rollouts;

/// All of it but what speaks to endpoints: a request holds it by one handle.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) groups: Groups,
    pub(super) recorder: Recorder,
    pub(super) retries: Retries,
    pub(super) rollouts: Option<Rollouts>,
}
