//! A session meets one commit of each service that it goes through.
//!
//! Three services call each other, `web` → `cart` → `price`, and each is being rolled out: it has two
//! commits, with half of the sessions each. A visitor keeps a pin of `web` only. `web` hands it on,
//! `cart` reads it as the key of the session, hands it on in turn, and `price` reads it as well. So
//! all calls for one visitor meet one commit of each service, and a promote moves nobody.
//!
//! - [`Service`]: one service with its affinity layer, its store, and its client of the next one
//! - [`Visitor`]: a client that keeps the pin of `web`
//! - [`visits`]: many of them, and a promote in the middle
//!
//! ```sh
//! cargo run -p three-services
//! ```

mod client;
mod service;
mod shop;
mod show;
#[cfg(test)]
mod tests;
mod visit;
mod visitor;

pub use self::client::{CallError, Client, Plain};
pub use self::service::{Seen, Service};
pub use self::shop::{NEW, OLD, Shop};
pub use self::show::show;
pub use self::visit::{Visits, visits};
pub use self::visitor::Visitor;
