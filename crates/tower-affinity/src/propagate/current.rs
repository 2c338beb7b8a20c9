//! The context of the task that runs, where the feature `tokio` keeps one.

#[cfg(feature = "tokio")]
mod task {
    use tokio::task::futures::TaskLocalFuture;

    use crate::propagate::Propagation;

    tokio::task_local! {
        static CURRENT: Propagation;
    }

    /// That of the task, if it is in a scope of one.
    pub(in crate::propagate) fn propagation() -> Option<Propagation> {
        CURRENT.try_with(Propagation::clone).ok()
    }

    /// A future in whose scope that is the context.
    pub(in crate::propagate) type Scoped<F> = TaskLocalFuture<Propagation, F>;

    pub(in crate::propagate) fn scoped<F>(propagation: Propagation, future: F) -> Scoped<F>
    where
        F: Future,
    {
        CURRENT.scope(propagation, future)
    }
}

#[cfg(not(feature = "tokio"))]
mod task {
    use crate::propagate::Propagation;

    /// None: a context goes only with the request that it is given to.
    pub(in crate::propagate) fn propagation() -> Option<Propagation> {
        None
    }
}

pub(super) use self::task::propagation;
#[cfg(feature = "tokio")]
pub(super) use self::task::{Scoped, scoped};
