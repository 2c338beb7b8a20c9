//! The tunnels that outlive their HTTP connection.

use std::future::Future;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The open tunnels: upgraded connections that bytes are copied through.
///
/// hyper's connection ends at the `101`, so nothing but this knows that a tunnel still runs. The
/// leaf adds tunnels, the listener waits for them at its end and cuts those that stay. A clone
/// is another handle to the same set.
#[derive(Clone, Debug, Default)]
pub struct Tunnels {
    tracker: TaskTracker,
    cut: CancellationToken,
}

impl Tunnels {
    /// No tunnel.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tracker.len()
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tracker.is_empty()
    }

    /// Runs `tunnel` until it ends or is cut; either way it is dropped.
    pub(crate) fn spawn(&self, tunnel: impl Future<Output = ()> + Send + 'static) {
        let cut = self.cut.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                () = tunnel => {}
                () = cut.cancelled() => {}
            }
        });
    }

    /// Waits until none is open. One that is added later is still tracked.
    pub(super) async fn ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// Ends all of them now, and any that is added from now on.
    pub(super) fn cut(&self) {
        self.cut.cancel();
    }
}
