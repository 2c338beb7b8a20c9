//! The tunnels that outlive their HTTP connection.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{LiveLimits, activity::Activity, patient::Patient};

/// The open tunnels: upgraded connections that bytes are copied through.
///
/// hyper's connection ends at the `101`, so nothing but this knows that a tunnel still runs. The
/// leaf adds tunnels, the listener waits for them at its end, asks those that stay to end, and
/// cuts those that do not. A clone is another handle to the same set.
#[derive(Clone, Debug, Default)]
pub struct Tunnels {
    tracker: TaskTracker,
    cut: CancellationToken,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    ends: BTreeMap<u64, CancellationToken>,
    /// Whether every tunnel that is opened from now on is asked to end at once.
    over: bool,
    asked: usize,
    /// Those of the listener that the clients came to.
    limits: LiveLimits,
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

    /// Runs a tunnel until it ends or is cut; either way it is dropped. It is made with the token
    /// that asks it to end.
    pub(crate) fn spawn<F>(&self, tunnel: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (place, end) = self.enter();
        let (tunnel, cut) = (tunnel(end), self.cut.clone());
        self.tracker.spawn(async move {
            tokio::select! {
                () = tunnel => {}
                () = cut.cancelled() => {}
            }
            drop(place);
        });
    }

    /// The client's side of a tunnel, which fails once the client has taken nothing for too long.
    /// On HTTP/2 nothing else would notice: its connection goes on taking other streams.
    pub(crate) fn patient<I>(&self, client: I) -> Patient<I> {
        let patience = self.open().limits.present().body_timeout;
        Patient::new(client, patience, Activity::default())
    }

    /// What counts for clients from now on.
    pub(super) fn limit(&self, limits: LiveLimits) {
        self.open().limits = limits;
    }

    fn enter(&self) -> (Place, CancellationToken) {
        let end = CancellationToken::new();
        let mut open = self.open();
        let number = open.next;
        open.next += 1;
        open.ends.insert(number, end.clone());
        if open.over {
            open.ask(number);
        }
        let place = Place {
            number,
            tunnels: self.clone(),
        };
        (place, end)
    }

    /// Asks all to end, one after another, so that their clients do not all come back in the same
    /// moment: the last one after `within`, and at once any that is opened later.
    pub(super) async fn end(&self, within: Duration) {
        let open: Vec<_> = self.open().ends.keys().copied().collect();
        let begun = Instant::now();
        let step = within / u32::try_from(open.len()).unwrap_or(u32::MAX).max(1);
        for (number, nth) in open.into_iter().zip(1_u32..) {
            // one that has ended by itself leaves its moment empty: the others keep theirs
            sleep_until(begun + step * nth).await;
            self.open().ask(number);
        }
        sleep_until(begun + within).await;
        let mut open = self.open();
        open.over = true;
        let late: Vec<_> = open.ends.keys().copied().collect();
        for number in late {
            open.ask(number);
        }
    }

    /// How many were asked to end while they were open.
    pub(super) fn asked(&self) -> usize {
        self.open().asked
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

    fn open(&self) -> MutexGuard<'_, Open> {
        // each change is one call on a map: it is whole even after another thread panicked
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn ask(&mut self, number: u64) {
        if let Some(end) = self.ends.get(&number)
            && !end.is_cancelled()
        {
            end.cancel();
            self.asked += 1;
        }
    }
}

/// The place of one open tunnel.
#[derive(Debug)]
struct Place {
    number: u64,
    tunnels: Tunnels,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.tunnels.open().ends.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    type Asked = Arc<Mutex<Vec<Duration>>>;

    /// Opens tunnels that end when they are asked to, and tell when that was.
    fn open(tunnels: &Tunnels, count: usize, asked: &Asked) {
        let begun = Instant::now();
        for _ in 0..count {
            let asked = Arc::clone(asked);
            tunnels.spawn(|end| async move {
                end.cancelled().await;
                asked.lock().unwrap().push(begun.elapsed());
            });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tunnels_are_asked_to_end_evenly() {
        let (tunnels, asked) = (Tunnels::new(), Asked::default());
        open(&tunnels, 200, &asked);
        tunnels.end(Duration::from_secs(20)).await;
        tunnels.ended().await;
        assert_eq!(tunnels.asked(), 200);
        let asked = asked.lock().unwrap();
        for second in 0..20 {
            let in_it = asked.iter().filter(|at| at.as_secs() == second).count();
            assert!((9..=11).contains(&in_it), "{in_it} in second {second}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_ended_by_itself_is_not_asked_and_a_late_one_is() {
        let (tunnels, asked) = (Tunnels::new(), Asked::default());
        tunnels.spawn(|_| async {});
        open(&tunnels, 1, &asked);
        tokio::task::yield_now().await;
        let ending = tokio::spawn({
            let tunnels = tunnels.clone();
            async move { tunnels.end(Duration::from_secs(20)).await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        open(&tunnels, 1, &asked);
        ending.await.unwrap();
        assert_eq!(tunnels.asked(), 2);
        open(&tunnels, 1, &asked);
        tunnels.ended().await;
        assert_eq!(asked.lock().unwrap().len(), 3);
        assert_eq!(asked.lock().unwrap().last(), Some(&Duration::ZERO));
    }
}
