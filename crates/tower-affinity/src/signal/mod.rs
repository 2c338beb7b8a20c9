//! What the application says about its session on an answer.
//!
//! [`SignalLayer`] stands next to the application. It takes `affinity-session` and
//! `affinity-outcome` off the answer, so that no client sees them, and leaves what was said
//! for the state side. A handler in the same process can leave a [`Signal`] and an [`Outcome`] itself.
//! Several words count together, but an end ends everything else.
//!
//! Alone, without an [`AssignLayer`](crate::AssignLayer) outside, it only removes the headers.
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_affinity::SignalLayer;
//!
//! // next to an application that speaks in headers
//! let stack = ServiceBuilder::new().layer(SignalLayer::new());
//! # let _ = stack;
//! ```
//!
//! In the same process an answer of axum (feature `axum`) is given them as parts, in front of its body:
//!
//! ```
//! # #[cfg(feature = "axum")] {
//! use axum::response::IntoResponse;
//! use tower_affinity::signal::{Outcome, Signal};
//!
//! // a handler that has finished its flow
//! async fn finish() -> impl IntoResponse {
//!     (Signal::End, Outcome::Success, "bye")
//! }
//! # let _ = finish; }
//! ```
//!
//! Elsewhere they are extensions:
//!
//! ```
//! use tower_affinity::signal::{Outcome, Signal};
//!
//! let mut response = http::Response::new("bye");
//! response.extensions_mut().insert(Signal::End);
//! response.extensions_mut().insert(Outcome::Success);
//! ```

pub(crate) mod said;
mod service;
#[cfg(test)]
mod tests;

use http::HeaderName;
use tower_affinity_core::{Outcomes, Said};
use tower_layer::Layer;

pub(crate) use self::service::hear;
pub use self::service::{ResponseFuture, SignalService};
use crate::misplaced::Misplaced;
use crate::record::Recorder;

const SESSION: HeaderName = HeaderName::from_static("affinity-session");
const OUTCOME: HeaderName = HeaderName::from_static("affinity-outcome");

/// What the application says about its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signal {
    /// The flow is complete: the pin is cleared.
    End,
    /// The session may leave: if its group drains and the stable group is ready, it moves there
    /// with its next request.
    Release,
    /// The application has seen that the session was moved.
    MovedSeen,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::End, Self::Release, Self::MovedSeen];

    /// The word in the header `affinity-session`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Release => "release",
            Self::MovedSeen => "moved-seen",
        }
    }

    /// Reads a value of the header `affinity-session`; spaces around the word do not count.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        let word = value.trim_ascii();
        let mut all = Self::ALL.into_iter();
        all.find(|signal| signal.as_str().as_bytes() == word)
    }

    /// Whether this is among what was `said`.
    const fn is_said(self, said: Said) -> bool {
        match self {
            Self::End => said.end,
            Self::Release => said.release,
            Self::MovedSeen => said.moved_seen,
        }
    }
}

/// Whether the flow of the session has reached its aim, as the application says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It has.
    Success,
    /// It has failed, whatever the status of the answer is.
    Failure,
}

impl Outcome {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Success, Self::Failure];

    /// The word in the header `affinity-outcome`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }

    /// Reads a value of the header `affinity-outcome`; spaces around the word do not count.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        let word = value.trim_ascii();
        let mut all = Self::ALL.into_iter();
        all.find(|outcome| outcome.as_str().as_bytes() == word)
    }

    /// What a pin says of it.
    const fn flag(self) -> Outcomes {
        match self {
            Self::Success => Outcomes::COMPLETED,
            Self::Failure => Outcomes::FAILED,
        }
    }
}

/// Turns what the application says in headers into a [`Signal`]; see the [module](self).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SignalLayer {
    recorder: Recorder,
    misplaced: Misplaced,
}

impl SignalLayer {
    /// The layer.
    pub fn new() -> Self {
        Self::default()
    }

    /// What counts values that are not understood.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }
}

impl<S> Layer<S> for SignalLayer {
    type Service = SignalService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        SignalService::new(inner, self.recorder.clone(), self.misplaced.clone())
    }
}
