//! Waiting for a condition, with a bound.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Far above what one step takes, so that only what never comes ends a wait.
pub const BOUND: Duration = Duration::from_secs(30);

/// As [`BOUND`], for a load of many thousand requests on a busy machine.
pub const LOAD_BOUND: Duration = Duration::from_secs(300);

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until `holds` answers a value.
///
/// # Panics
///
/// If it has not after [`BOUND`]; the message names `what`.
pub async fn until<T>(what: &str, holds: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(BOUND, what, holds).await
}

/// Waits until `holds` answers a value.
///
/// # Panics
///
/// If it has not after `bound`; the message names `what`.
pub async fn until_within<T>(
    bound: Duration,
    what: &str,
    mut holds: impl AsyncFnMut() -> Option<T>,
) -> T {
    let end = Instant::now() + bound;
    loop {
        if let Some(value) = holds().await {
            return value;
        }
        assert!(Instant::now() < end, "never came: {what}");
        sleep(LOOK).await;
    }
}
