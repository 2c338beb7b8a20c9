//! Sessions over gRPC.
//!
//! Two services speak gRPC by tonic: `cart`, which has sessions, and `price`, which `cart` calls. A
//! client keeps its pin in the metadata `affinity-pin`; an empty one asks for a pin. `cart` hands it
//! on through a [`PropagateLayer`](tower_affinity::PropagateLayer) around tonic's channel, and `price`
//! reads it as the key of the session.
//!
//! What the layer refuses is a trailers-only answer of gRPC: a session that an abort has ended is
//! `FAILED_PRECONDITION`, and its pin is cleared.
//!
//! - [`wire`]: the messages and methods, written by hand
//! - [`Cart`] and [`Price`]: the services
//! - [`Shopper`]: a client that keeps its pin
//!
//! ```sh
//! cargo run -p tonic-grpc
//! ```

mod cart;
mod peer;
mod price;
mod serve;
mod shopper;
#[cfg(test)]
mod tests;
pub mod wire;

pub use self::cart::Cart;
pub use self::price::Price;
pub use self::serve::{Running, halves};
pub use self::shopper::Shopper;

/// The commit that serves everybody before the rollout.
pub const OLD: &str = "9f1c2ab";
/// The one that is rolled out.
pub const NEW: &str = "c3d4e5f";

/// Why something cannot be started.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
