//! One story for each verb, over the admin API.

mod aborts;
mod changes;
mod guard;
pub(super) mod stage;
