//! The wire side of affinity: scopes, carriers and keys. [`PinLayer`] never waits and decides
//! nothing.
//!
//! On a request it finds the scope, opens what was sent as a pin, leaves a [`Presented`] for the
//! state side, and removes our cookie and header. On the answer it writes or clears the pin, if
//! the state side says so, and keeps shared caches from storing what belongs to one session.
//!
//! Alone, without an [`AssignLayer`](crate::AssignLayer) inside, it writes no pin.
//!
//! ```
//! use std::sync::Arc;
//! use tower_affinity::PinLayer;
//! use tower_affinity::core::{Keyring, PinCodec};
//!
//! # fn layer(ring: &Keyring) -> Result<PinLayer, Box<dyn std::error::Error>> {
//! let codec = Arc::new(PinCodec::new("checkout".parse()?, ring));
//! let layer = PinLayer::new(codec);
//! # Ok(layer) }
//! ```
//!
//! Customised: only the API has sessions, clients without cookies are served too, and pins live
//! for a quarter of an hour.
//!
//! ```
//! use std::time::Duration;
//! # use std::sync::Arc;
//! # use tower_affinity::PinLayer;
//! use tower_affinity::core::{Lifetimes, PinCodec};
//! use tower_affinity::wire::Scope;
//! use tower_affinity::{Carrier, CookieAttributes, SameSite};
//!
//! # fn layer(codec: Arc<PinCodec>) -> Result<PinLayer, Box<dyn std::error::Error>> {
//! let lifetimes = Lifetimes::new(Duration::from_secs(900), Duration::from_secs(3600))?;
//! let cookie = CookieAttributes::new(codec.service(), true).same_site(SameSite::Strict)?;
//! let layer = PinLayer::new(codec)
//!     .scopes([Scope::new("/api/*".parse()?)], lifetimes)
//!     .carriers(&[Carrier::Cookie, Carrier::Header])
//!     .cookie(cookie);
//! # Ok(layer) }
//! ```

mod browser;
mod cache;
mod future;
mod grant;
mod hint;
mod hop;
mod layer;
mod read;
mod scope;
mod sent;
mod service;
mod shared;
mod shown;
mod write;

pub(crate) use self::browser::is_navigation;
pub use self::future::ResponseFuture;
pub(crate) use self::grant::{ClearOverride, Visit};
pub use self::hint::HintSource;
pub(crate) use self::hop::{HEADER as HOP, Unmarked};
pub use self::layer::PinLayer;
pub use self::read::Presented;
pub(crate) use self::read::{cookie_key, header_key};
pub use self::scope::{AssignBy, CachePolicy, InvalidPath, PathPattern, Scope};
pub(crate) use self::sent::Sent;
pub use self::service::PinService;
pub(crate) use self::shown::Carries;
pub(crate) use self::write::AlreadySealed;
pub use self::write::WriteBack;
