//! State of a session in the memory of one process, for as long as its requests come here.
//!
//! [`LocalSessions`] holds one value per session. [`Local`] is a session's place in it: with the
//! feature `axum` an extractor, else made by [`LocalSessions::of`]. A session is the one that
//! [`Affinity`](crate::Affinity) names, so nobody reads a value by an id that they chose.
//!
//! **A value can be gone at any request**, and then the flow begins anew or is read from where it
//! is kept for good. It ends
//!
//! - by its **idle timeout**, which begins again with each request that asks for the place. It is to
//!   be shorter than three quarters of the pins' idle lifetime, which is what a pin guarantees: else
//!   a value would outlive the knowledge of where it is. The wrong way round is refused.
//! - for want of **room**: beyond the capacity, the value that is nearest its end is let go;
//! - by [`Local::remove`], and by [`Local::end`] with the whole session;
//! - with a **move**. A session that moves to another group keeps its id but comes to another
//!   process, or in a process that holds the code of all groups to other code. So a value belongs to
//!   one *stay*: after a move, also one back, the place is empty, and
//!   [`Affinity::moved_from`](crate::Affinity::moved_from) says why. What the session left behind
//!   ends by the idle timeout;
//! - with the process. A pin names a *group*: only at the level `endpoint` do a session's requests
//!   come to the same process as long as that lives.
//!
//! Whoever holds a value keeps it, also beyond its end; it is dropped with its last holder. No lock
//! is held while code of the application runs or waits, but for [`Local::update`], which updates of
//! the same session wait for.
//!
//! Values that have ended are never seen. They are dropped a few at a time by the calls that come
//! anyway; where calls can stay away, a timer calls [`LocalSessions::sweep`].
//!
//! Every first request of a client that keeps no cookies is a new session. So put in a place what a
//! request may cost, and let a costly value wait until the session has come back: then
//! `affinity.decision().kind` is not [`Kind::Assigned`](crate::core::Kind::Assigned).
//!
//! ```
//! # #[cfg(not(feature = "axum"))] fn main() {}
//! # #[cfg(feature = "axum")] fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use axum::{Extension, Router, extract::State, response::IntoResponse, routing::post};
//! use tower_affinity::core::Lifetimes;
//! use tower_affinity::{Local, LocalSessions};
//!
//! #[derive(Clone, Default)]
//! struct Basket(Vec<String>);
//!
//! async fn add(basket: Local<Basket>, item: String) -> String {
//!     basket.get_or_insert_with(Basket::default);
//!     match basket.update(|basket| { basket.0.push(item); basket.0.len() }) {
//!         Some(items) => format!("{items} items"),
//!         None => "please begin again".to_owned(), // its room was needed in between
//!     }
//! }
//!
//! async fn pay(basket: Local<Basket>) -> impl IntoResponse {
//!     let items = basket.get().map_or(0, |basket| basket.0.len());
//!     // the flow is complete: the value goes, and so does the session
//!     (Extension(basket.end()), format!("{items} items paid"))
//! }
//!
//! let baskets = LocalSessions::<Basket>::builder(Lifetimes::default()).build()?;
//! let app: Router = Router::new()
//!     .route("/add", post(add))
//!     .route("/pay", post(pay))
//!     .with_state(baskets); // and `.layer(affinity)`
//! # let _ = app; Ok(()) }
//! ```
//!
//! Customised: with the lifetimes that the layer has too, room for a million, and swept when nobody
//! calls.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use tower_affinity::core::Lifetimes;
//! use tower_affinity::{AffinityLayer, LocalSessions};
//!
//! let lifetimes = Lifetimes::new(Duration::from_secs(3600), Duration::from_secs(4 * 3600))?;
//! let affinity = AffinityLayer::builder().lifetimes(lifetimes); // and what else it needs
//! let models = LocalSessions::<Vec<f32>>::builder(lifetimes)
//!     .idle_timeout(Duration::from_secs(1800))
//!     .capacity(1_000_000)
//!     .build()?;
//! let swept = models.clone();
//! tokio::spawn(async move {
//!     let mut ticks = tokio::time::interval(Duration::from_secs(1));
//!     loop {
//!         ticks.tick().await;
//!         swept.sweep();
//!     }
//! });
//! # let _ = affinity; Ok(()) }
//! ```

mod builder;
mod cell;
#[cfg(feature = "axum")]
mod extract;
mod local;
mod local_sessions;
mod room;
mod shard;
#[cfg(test)]
mod tests;

pub use self::builder::{LocalSessionsBuilder, LocalSessionsError};
#[cfg(feature = "axum")]
pub use self::extract::NoLocal;
pub use self::local::Local;
pub use self::local_sessions::LocalSessions;
