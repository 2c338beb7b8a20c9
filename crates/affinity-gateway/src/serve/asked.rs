//! A tower service as hyper asks it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use http::Request;
use hyper::service::Service as HyperService;
use pin_project_lite::pin_project;
use tower_service::Service;

/// The service of one connection. All requests of it are asked of the same clone, as long as that
/// is ready at once; one that is not goes with its request, and another clone takes its place.
#[derive(Debug)]
pub(super) struct Asked<S>(RefCell<S>);

impl<S> Asked<S> {
    pub(super) fn new(service: S) -> Self {
        Self(RefCell::new(service))
    }
}

impl<S, Q> HyperService<Request<Q>> for Asked<S>
where
    S: Service<Request<Q>> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Asking<S, Request<Q>, S::Future, S::Error>;

    fn call(&self, request: Request<Q>) -> Self::Future {
        let mut service = self.0.borrow_mut();
        // nobody is to be woken: who is not ready is asked again below
        match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Asking::Called {
                answer: service.call(request),
            },
            Poll::Ready(Err(error)) => Asking::Failed { error: Some(error) },
            Poll::Pending => {
                let fresh = service.clone();
                // the one that was asked may be in a queue
                let service = std::mem::replace(&mut *service, fresh);
                Asking::Waiting {
                    call: Box::new((service, Some(request))),
                }
            }
        }
    }
}

pin_project! {
    /// The answer of [`Asked`].
    #[project = AskingProj]
    pub(super) enum Asking<S, Q, F, E> {
        // boxed: it is rare, and all answers would have its room
        Waiting { call: Box<(S, Option<Q>)> },
        Called { #[pin] answer: F },
        Failed { error: Option<E> },
    }
}

impl<S, Q> Future for Asking<S, Q, S::Future, S::Error>
where
    S: Service<Q>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let answer = match self.as_mut().project() {
                AskingProj::Called { answer } => return answer.poll(cx),
                AskingProj::Failed { error } => match error.take() {
                    Some(error) => return Poll::Ready(Err(error)),
                    // it was polled after its end
                    None => return Poll::Pending,
                },
                AskingProj::Waiting { call } => {
                    let (service, request) = &mut **call;
                    ready!(service.poll_ready(cx))?;
                    match request.take() {
                        Some(request) => service.call(request),
                        None => return Poll::Pending,
                    }
                }
            };
            self.set(Self::Called { answer });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::{self, Ready};
    use std::sync::Arc;

    use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
    use tokio_test::{assert_pending, assert_ready_ok, task::spawn};
    use tokio_util::sync::PollSemaphore;

    use super::*;

    /// Takes one request at a time, in the order in which they asked.
    struct OneByOne {
        places: PollSemaphore,
        place: Option<OwnedSemaphorePermit>,
        end: Arc<Notify>,
    }

    impl Clone for OneByOne {
        fn clone(&self) -> Self {
            Self {
                places: self.places.clone(),
                place: None,
                end: Arc::clone(&self.end),
            }
        }
    }

    impl Service<Request<()>> for OneByOne {
        type Response = ();
        type Error = Infallible;
        type Future = Pin<Box<dyn Future<Output = Result<(), Infallible>>>>;

        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            self.place = ready!(self.places.poll_acquire(cx));
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            let (place, end) = (self.place.take(), Arc::clone(&self.end));
            assert!(place.is_some(), "called before it was ready");
            Box::pin(async move {
                end.notified().await;
                drop(place);
                Ok(())
            })
        }
    }

    #[test]
    fn a_service_that_is_not_ready_is_waited_for() {
        let end = Arc::new(Notify::new());
        let asked = Asked::new(OneByOne {
            places: PollSemaphore::new(Arc::new(Semaphore::new(1))),
            place: None,
            end: Arc::clone(&end),
        });
        let [mut first, mut second, mut third] =
            [(); 3].map(|()| spawn(asked.call(Request::new(()))));
        assert_pending!(first.poll());
        assert_pending!(second.poll(), "beyond the limit");
        assert_pending!(third.poll(), "beyond the limit");
        end.notify_one();
        assert_ready_ok!(first.poll());
        drop(first);
        assert!(second.is_woken(), "the first in the queue was forgotten");
        assert_pending!(second.poll(), "it was called");
        end.notify_one();
        assert_ready_ok!(second.poll());
        drop(second);
        assert!(third.is_woken(), "the last in the queue was forgotten");
        end.notify_one();
        assert_ready_ok!(third.poll());
    }

    /// Counts how often it was cloned.
    struct Counted(Arc<()>);

    impl Clone for Counted {
        fn clone(&self) -> Self {
            Self(Arc::clone(&self.0))
        }
    }

    impl Service<Request<()>> for Counted {
        type Response = usize;
        type Error = Infallible;
        type Future = Ready<Result<usize, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            future::ready(Ok(Arc::strong_count(&self.0)))
        }
    }

    #[test]
    fn a_service_that_is_ready_is_not_cloned() {
        let asked = Asked::new(Counted(Arc::default()));
        let clones = assert_ready_ok!(spawn(asked.call(Request::new(()))).poll());
        assert_eq!(clones, 1);
    }
}
