//! [`Wanted`]: what a request wants of its group.

use std::net::SocketAddr;

use tower_affinity_core::GroupId;

/// What a request wants: a place at an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The group that was decided.
    pub(crate) id: &'a GroupId,
    /// Whether a pin was obeyed. All others are new to the group, and give way to these.
    pub(crate) pinned: bool,
    /// Endpoints that were tried before: picked only if no other is left.
    pub(crate) avoid: &'a [SocketAddr],
}
