//! [`Timer`]: how the layers wait, whatever the runtime.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

/// Ready when the time is over.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits. With tokio it is one line:
///
/// ```
/// use std::time::Duration;
/// use tower_affinity::store::{Sleep, Timer};
///
/// #[derive(Debug)]
/// struct Tokio;
///
/// impl Timer for Tokio {
///     fn sleep(&self, span: Duration) -> Sleep {
///         Box::pin(tokio::time::sleep(span))
///     }
/// }
/// ```
pub trait Timer: fmt::Debug + Send + Sync + 'static {
    /// Is ready after `span`.
    fn sleep(&self, span: Duration) -> Sleep;
}
