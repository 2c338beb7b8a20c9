//! How the path of requests is replaced as a whole.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use arc_swap::{ArcSwap, Cache};
use tower_service::Service;

use crate::stack::Stack;

/// The present path. A request takes the one that is there when it arrives and keeps it. A clone is
/// another handle.
///
/// Each handle that requests come to, so each connection, has a clone of the path of its own, made
/// again only after the path was replaced: a request clones none of what the path consists of.
pub(crate) struct Swap<S = Stack> {
    present: Cache<Arc<ArcSwap<S>>, Arc<S>>,
    of: Arc<S>,
    // boxed: a connection is moved some times before it is served
    own: Box<S>,
}

impl<S: Clone> Swap<S> {
    pub(crate) fn new(path: S) -> Self {
        Self::of(Cache::new(Arc::new(ArcSwap::from_pointee(path))))
    }

    pub(crate) fn replace(&self, path: S) {
        self.present.arc_swap().store(Arc::new(path));
    }

    fn of(mut present: Cache<Arc<ArcSwap<S>>, Arc<S>>) -> Self {
        let of = Arc::clone(present.load());
        let own = Box::new(S::clone(&of));
        Self { present, of, own }
    }

    fn own(&mut self) -> &mut S {
        let present = self.present.load();
        if !Arc::ptr_eq(&self.of, present) {
            self.of = Arc::clone(present);
            *self.own = S::clone(present);
        }
        &mut self.own
    }
}

impl<S, Q> Service<Q> for Swap<S>
where
    S: Service<Q> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // every service of the path is always ready: the group is only known with the request
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Q) -> S::Future {
        self.own().call(request)
    }
}

impl<S: Clone> Clone for Swap<S> {
    fn clone(&self) -> Self {
        Self::of(self.present.clone())
    }
}

impl<S> fmt::Debug for Swap<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swap").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::{Ready, ready};

    use tokio_test::{assert_ready_ok, task::spawn};

    use super::*;

    /// Answers with the name of the path and how many requests it has had.
    #[derive(Clone, Debug)]
    struct Path(&'static str, u32);

    impl Service<()> for Path {
        type Response = (&'static str, u32);
        type Error = Infallible;
        type Future = Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, (): ()) -> Self::Future {
            self.1 += 1;
            ready(Ok((self.0, self.1)))
        }
    }

    fn ask(swap: &mut Swap<Path>) -> (&'static str, u32) {
        assert_ready_ok!(spawn(swap.call(())).poll())
    }

    #[test]
    fn a_path_that_is_replaced_counts_for_the_next_request_of_each_handle() {
        let mut one = Swap::new(Path("old", 0));
        let mut other = one.clone();
        assert_eq!((ask(&mut one), ask(&mut other)), (("old", 1), ("old", 1)));
        other.replace(Path("new", 0));
        let mut fresh = one.clone();
        for handle in [&mut one, &mut other, &mut fresh] {
            assert_eq!(ask(handle), ("new", 1));
        }
    }

    #[test]
    fn the_requests_of_one_handle_share_a_clone_of_the_path() {
        let mut swap = Swap::new(Path("path", 0));
        let counts = [(); 3].map(|()| ask(&mut swap).1);
        assert_eq!(counts, [1, 2, 3], "the path was cloned for a request");
    }

    #[test]
    fn a_former_path_is_let_go_with_the_next_request() {
        let mut swap = Swap::new(Path("old", 0));
        ask(&mut swap);
        let former = Arc::downgrade(&swap.of);
        swap.replace(Path("new", 0));
        ask(&mut swap);
        assert!(former.upgrade().is_none(), "the former path is still held");
    }
}
