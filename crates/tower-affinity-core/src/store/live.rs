//! How many sessions live where.

use std::fmt;
use std::sync::Arc;

use crate::{EndpointId, GroupId};

/// How many sessions live where: unexpired rows, and nothing else.
pub trait Live: Send + Sync {
    /// The live sessions of a group.
    fn of(&self, group: &GroupId) -> u64;

    /// The live sessions that are bound to an endpoint of a group.
    fn at(&self, group: &GroupId, endpoint: &EndpointId) -> u64;
}

/// Counts of live sessions; cheap to clone.
#[derive(Clone)]
pub enum LiveCounts {
    /// They are known, exactly or with the bounded age that the store promises.
    Known(Arc<dyn Live>),
    /// They are not known, or too old to choose by.
    Unknown,
}

impl fmt::Debug for LiveCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known(_) => "Known",
            Self::Unknown => "Unknown",
        })
    }
}

/// Nothing lives anywhere: what is chosen by it is chosen by weight alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCounts;

impl Live for NoCounts {
    fn of(&self, _: &GroupId) -> u64 {
        0
    }

    fn at(&self, _: &GroupId, _: &EndpointId) -> u64 {
        0
    }
}
