//! [`AuthBurst`]: sessions that were moved, and of which the new group knows nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::Label;
use tower_affinity_core::analysis::{AuthCount, AuthDetector};
use tower_affinity_core::{Revision, Timestamp};

use super::names;
use super::recorder::Recorder;

/// A group whose moved sessions fail to authenticate, far more often than those that stayed
/// ([`AuthDetector`] says from where on).
#[derive(Clone, Debug, PartialEq)]
pub struct AuthBurst {
    /// The group that they were moved to.
    pub group: String,
    /// The group that the last of them came from, if one was moved since this process began.
    pub from: Option<String>,
    /// Why that one was moved.
    pub cause: Option<String>,
    /// The revision of the rollout when the burst was noticed.
    pub revision: Revision,
    /// When it was noticed.
    pub since: Timestamp,
    /// What moved sessions were answered in the window that showed it last.
    pub moved: AuthCount,
    /// The share of failures that was taken as usual there.
    pub usual: f64,
}

/// What has changed since the last look at authentication.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuthNews {
    /// Bursts that have begun.
    pub began: Vec<AuthBurst>,
    /// Groups of which a burst is over.
    pub over: Vec<String>,
}

/// What the watch knows.
#[derive(Default)]
pub(super) struct Watched(Mutex<Watch>);

#[derive(Default)]
struct Watch {
    detector: AuthDetector,
    bursts: BTreeMap<String, AuthBurst>,
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, Watch> {
        // each look makes it anew
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    /// Looks whether moved sessions fail to authenticate: to be called about once a second.
    /// `elapsed` is the time since whatever start, which never goes back; `now` and `revision` are
    /// what a burst is told with.
    ///
    /// Answers what has begun and what is over since the last look. Until then it is shown by
    /// `affinity_auth_burst` and [`Recorder::auth_bursts`].
    #[must_use = "what has begun or is over is to be told"]
    pub fn watch_auth(&self, elapsed: Duration, now: Timestamp, revision: Revision) -> AuthNews {
        let mut news = AuthNews::default();
        let groups = self.groups();
        let readings = groups.values().map(|series| {
            let name = series.group().to_owned();
            (name, series.auth().reading())
        });
        let mut watch = self.watched().lock();
        let Watch { detector, bursts } = &mut *watch;
        let found = detector.observe(elapsed, readings.collect());
        bursts.retain(|group, _| {
            let goes_on = found.contains_key(group);
            if !goes_on {
                self.show(group, false);
                news.over.push(group.clone());
            }
            goes_on
        });
        for (group, excess) in found {
            let burst = bursts.entry(group.clone()).or_insert_with(|| {
                let series = self.series(group);
                let arrival = series.auth().arrival();
                let (from, cause) = arrival.map(|a| (a.from, a.cause)).unzip();
                let burst = AuthBurst {
                    group: group.clone(),
                    from,
                    cause,
                    revision,
                    since: now,
                    moved: excess.moved,
                    usual: excess.usual,
                };
                self.show(group, true);
                news.began.push(burst.clone());
                burst
            });
            burst.moved = excess.moved;
            burst.usual = excess.usual;
        }
        news
    }

    /// The groups whose moved sessions fail to authenticate now, by name.
    #[must_use]
    pub fn auth_bursts(&self) -> Vec<AuthBurst> {
        self.watched().lock().bursts.values().cloned().collect()
    }

    fn show(&self, group: &str, bursts: bool) {
        let label = Label::new("group", group.to_owned());
        let value = f64::from(u8::from(bursts));
        self.source().set(names::AUTH_BURST, vec![label], value);
    }
}

/// What a person needs to know of it.
impl fmt::Display for AuthBurst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AuthCount { answered, failed } = self.moved;
        let from = self.from.as_deref().unwrap_or("unknown");
        let cause = self.cause.as_deref().unwrap_or("unknown");
        write!(
            f,
            "sessions that were moved to {} from {from} (cause {cause}) fail to authenticate: \
             {failed} of {answered} answers, where {:.1} % are usual; revision {}",
            self.group,
            self.usual * 100.0,
            self.revision.0
        )
    }
}
