//! What is measured of a fault: what the store was sent, when it was used, how long answers took.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use affinity_tests::load::{Shot, Shots};
use tokio::time::{Instant, sleep};

use super::stage::{Answers, Stage};

/// What came to the store within a while, and whether it was used.
pub(crate) struct Record {
    samples: Vec<Sample>,
}

struct Sample {
    at: Instant,
    calls: u64,
    is_up: bool,
}

const LOOK: Duration = Duration::from_millis(100);

impl Record {
    /// Looks for that long.
    pub(crate) async fn of(stage: &Stage, span: Duration) -> Self {
        let end = Instant::now() + span;
        let mut samples = Vec::new();
        while Instant::now() < end {
            let is_up = stage.is_up().await;
            let calls = stage.server.calls().await;
            let of = |name: &str| calls.get(name).copied().unwrap_or_default();
            samples.push(Sample {
                at: Instant::now(),
                calls: of("evalsha") + of("eval"),
                is_up,
            });
            sleep(LOOK).await;
        }
        Self { samples }
    }

    /// Commands a second.
    pub(crate) fn rate(&self) -> f64 {
        let (first, last) = (&self.samples[0], &self.samples[self.samples.len() - 1]);
        (last.calls - first.calls) as f64 / (last.at - first.at).as_secs_f64()
    }

    /// The most commands a second within a second.
    pub(crate) fn peak(&self) -> f64 {
        let rates = self.samples.iter().enumerate().filter_map(|(at, first)| {
            let is_second = |last: &&Sample| last.at - first.at >= Duration::from_secs(1);
            let last = self.samples[at..].iter().find(is_second)?;
            Some((last.calls - first.calls) as f64 / (last.at - first.at).as_secs_f64())
        });
        rates.fold(0.0, f64::max)
    }

    /// When it was last seen that the store was not used.
    pub(crate) fn last_down(&self) -> Option<Instant> {
        let down = self.samples.iter().rev().find(|sample| !sample.is_up);
        down.map(|sample| sample.at)
    }
}

impl Answers {
    fn all(&self) -> [&Shots; 3] {
        [&self.cookies, &self.ids, &self.newcomers]
    }

    /// What was not answered well, by what it was.
    pub(crate) fn faults(&self) -> BTreeMap<String, usize> {
        let faults = self.all().into_iter().flat_map(Shots::faults);
        faults.fold(BTreeMap::new(), |mut sum, (fault, count)| {
            *sum.entry(fault).or_default() += count;
            sum
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.all().into_iter().map(Shots::len).sum()
    }

    /// How long answers took at most, for that share of those that were asked for then.
    pub(crate) fn quantile(&self, share: f64, when: &Range<Instant>) -> Duration {
        let shots = self.all().into_iter().flat_map(Shots::iter);
        let shots = shots.filter(|shot| when.contains(&shot.sent));
        let mut took: Vec<_> = shots.map(|shot| shot.took).collect();
        took.sort();
        assert!(!took.is_empty(), "nobody asked then");
        let at = (took.len() as f64 * share).ceil() as usize;
        took[at.clamp(1, took.len()) - 1]
    }
}

/// How often sessions changed their group.
pub(crate) fn moves(shots: &Shots) -> usize {
    let mut last: BTreeMap<usize, &str> = BTreeMap::new();
    let groups = shots.iter().filter_map(|shot: &Shot| {
        let group = shot.group()?;
        Some((shot.session, group))
    });
    let moved = groups.filter(|(session, group)| {
        let before = last.insert(*session, group);
        before.is_some_and(|before| before != *group)
    });
    moved.count()
}
