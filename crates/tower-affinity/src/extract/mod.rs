//! Extractors and answers for axum (feature `axum`): what a handler is told of its session, and how it
//! says what becomes of it.
//!
//! | extractor | rejects | what to do |
//! | --- | --- | --- |
//! | [`Affinity`](crate::Affinity) | 500 without an [`AffinityLayer`](crate::AffinityLayer) ([`MissingAffinity`]) | add the layer after the route |
//! | `Option<Affinity>` | never | `None`: the route is served without the layer too |
//! | [`Moved`] | 409 if the session was not moved, or the application has seen it ([`NotMoved`]); 500 without the layer | for routes that only make sense after a move |
//! | `Option<Moved>` | never | begin the flow anew, and answer [`Moved::seen`] |
//! | [`Arms`](crate::Arms) | 500 without a layer that has experiments ([`MissingArms`]) | give the layer its [`experiments`](crate::experiments) |
//! | `Option<Arms>` | never | `None`: serve what everybody gets |
//! | [`Propagation`](crate::Propagation) | never | empty in scopes that do not propagate |
//! | [`RequireGroup`] | 421 if another group was decided ([`OtherGroup`]); 500 without the layer | send the client to a page that its commit has |
//! | [`RestartFlow`] | never | answer [`RestartFlow::to`] |
//!
//! Every rejection is answered by a problem (RFC 9457) and logged. A handler says what becomes of its session by parts of its answer, as
//! many as apply: [`Signal`](crate::signal::Signal) and [`Outcome`](crate::signal::Outcome).
//!
//! ```
//! use axum::response::{IntoResponse, Response};
//! use tower_affinity::extract::{Moved, RestartFlow};
//! use tower_affinity::signal::{Outcome, Signal};
//!
//! /// One step. What the client has entered may be of no use on another commit.
//! async fn step(moved: Option<Moved>) -> Response {
//!     match moved {
//!         Some(moved) => (moved.seen(), "please begin again").into_response(),
//!         None => "go on".into_response(),
//!     }
//! }
//!
//! /// The last step: the flow is complete, and the client's next one is drawn anew.
//! async fn finish() -> impl IntoResponse {
//!     (Signal::End, Outcome::Success, "thank you")
//! }
//!
//! /// A flow that cannot go on: a page is sent to the start, anything else is told so.
//! async fn broken(restart: RestartFlow) -> Response {
//!     restart.to("/start").into_response()
//! }
//! # use axum::{Router, routing::post};
//! # let _: Router = Router::new()
//! #     .route("/step", post(step))
//! #     .route("/finish", post(finish))
//! #     .route("/broken", post(broken));
//! ```

mod affinity;
mod arms;
mod moved;
mod parts;
mod propagation;
mod require;
mod restart;

pub use self::affinity::MissingAffinity;
pub use self::arms::MissingArms;
pub use self::moved::{Moved, NotMoved};
pub use self::require::{OtherGroup, RequireGroup, RequiredGroup};
pub use self::restart::{RestartFlow, RestartedFlow};
