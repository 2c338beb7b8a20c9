//! An application that answers as it is told.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tower::Service;

use super::Body;

/// An application that answers as it is told and remembers every request.
#[derive(Clone)]
pub(crate) struct App(Arc<Mutex<Script>>);

struct Script {
    seen: Vec<Request<()>>,
    answer: Answer,
}

type Answer = Box<dyn FnMut(&Request<()>) -> Response<Body> + Send>;

impl App {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Script {
            seen: Vec::new(),
            answer: Box::new(|_| Response::new(Full::from("hello"))),
        })))
    }

    /// What it answers from now on.
    pub(crate) fn answers(
        &self,
        answer: impl FnMut(&Request<()>) -> Response<Body> + Send + 'static,
    ) {
        self.0.lock().unwrap().answer = Box::new(answer);
    }

    /// From now on it answers with these headers.
    pub(crate) fn says(&self, status: u16, headers: &'static [(&'static str, &'static str)]) {
        self.answers(move |_| {
            let mut response = Response::new(Full::from("hello"));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                response.headers_mut().append(*name, value.parse().unwrap());
            }
            response
        });
    }

    /// The last request, once.
    pub(crate) fn last(&self) -> Option<Request<()>> {
        self.0.lock().unwrap().seen.pop()
    }
}

impl Service<Request<Body>> for App {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let request = request.map(|_| ());
        let mut script = self.0.lock().unwrap();
        let response = (script.answer)(&request);
        script.seen.push(request);
        ready(Ok(response))
    }
}
