//! [`Sampler`]: looks at everything when somebody asks, at most about once a second.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::Instant;

use super::counts::{Counts, counts};
use super::view::{Overview, Sources, Window};

/// For how long a look is good.
const FRESH: Duration = Duration::from_millis(900);

/// How far back the window of failures and latencies goes: less shows noise, more hides a change.
const WINDOW: Duration = Duration::from_secs(10);

/// An earlier look is no base for a rate any more.
const STALE: Duration = Duration::from_secs(60);

/// Makes overviews. Clones share the looks.
#[derive(Clone)]
pub(crate) struct Sampler {
    sources: Sources,
    looks: Arc<Mutex<Looks>>,
}

#[derive(Default)]
struct Looks {
    /// The latest last; at most some more than the window holds.
    before: VecDeque<(Instant, Arc<Counts>)>,
    latest: Option<(Instant, Arc<str>)>,
}

impl Sampler {
    pub(crate) fn new(sources: Sources) -> Self {
        Self {
            sources,
            looks: Arc::default(),
        }
    }

    /// The overview as JSON, made now unless another was made just before.
    pub(crate) async fn overview(&self) -> Result<Arc<str>, JoinError> {
        // one at a time: who comes meanwhile takes what is made now
        let mut looks = self.looks.lock().await;
        let now = Instant::now();
        if let Some((made, text)) = &looks.latest
            && now.duration_since(*made) < FRESH
        {
            return Ok(Arc::clone(text));
        }
        looks
            .before
            .retain(|(at, _)| now.duration_since(*at) < STALE);
        let before = looks.before.iter();
        let rates = looks.before.back();
        // the earliest that lies within, or the latest if all are earlier
        let mut inside = before.filter(|(at, _)| now.duration_since(*at) <= WINDOW);
        let failures = inside.next().or(rates);
        let window = |look: Option<&(Instant, Arc<Counts>)>| {
            let (at, counts) = look?;
            let seconds = now.duration_since(*at).as_secs_f64();
            Some(Window {
                seconds,
                counts: Arc::clone(counts),
            })
        };
        let (rates, failures) = (window(rates), window(failures));
        let sources = self.sources.clone();
        // it waits for locks that are held while a disk is slow
        let looked = spawn_blocking(move || {
            let counts = Arc::new(counts(&(sources.metrics)()));
            let overview = Overview::of(&sources, &counts, rates.as_ref(), failures.as_ref());
            // a view of numbers and texts has a text
            let text = serde_json::to_string(&overview).unwrap_or_default();
            (counts, Arc::<str>::from(text))
        });
        let (counts, text) = looked.await?;
        looks.before.push_back((now, counts));
        if looks.before.len() > MOST {
            looks.before.pop_front();
        }
        looks.latest = Some((now, Arc::clone(&text)));
        Ok(text)
    }
}

/// More looks than the window can hold.
const MOST: usize = 16;
