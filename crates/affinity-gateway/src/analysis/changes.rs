//! [`Changes`]: which verdicts are new.

use std::collections::HashMap;
use std::fmt::Write;

use tower_affinity::core::analysis::{Measured, Verdict};
use tower_affinity::core::{GroupId, Revision};

use super::{Canary, Judged};

/// The verdicts that were told.
#[derive(Debug, Default)]
pub(super) struct Changes(HashMap<GroupId, (Revision, Verdict)>);

impl Changes {
    /// The canaries whose verdict is another than at the last look. With a step all begin anew:
    /// that there are too few sessions then is no news.
    pub(super) fn of<'j>(&mut self, judged: &'j Judged) -> Vec<&'j Canary> {
        let canaries = &judged.canaries;
        self.0
            .retain(|id, _| canaries.iter().any(|canary| canary.id == *id));
        let is_news = |canary: &&Canary| {
            let verdict = canary.comparison.verdict;
            let told = self.0.insert(canary.id.clone(), (judged.step, verdict));
            let told = told.filter(|(step, _)| *step == judged.step);
            verdict != told.map_or(Verdict::NotEnoughYet, |(_, verdict)| verdict)
        };
        canaries.iter().filter(is_news).collect()
    }
}

/// A verdict in words: `worse: 3.10 % of 1204 sessions failed, of a 1.00 % of 10981; …`.
pub(super) fn in_words(canary: &Canary, judged: &Judged) -> String {
    let stable = judged.stable.name();
    let verdict = match canary.comparison.verdict {
        Verdict::Better => format!("better than {stable}"),
        Verdict::NoWorse => format!("no worse than {stable}"),
        Verdict::Worse => format!("worse than {stable}"),
        Verdict::NotEnoughYet => format!("not told from {stable} any more"),
    };
    let Measured {
        canary: rate,
        stable: beside,
        interval,
        ..
    } = canary.comparison.failures;
    let percent = |rate: Option<f64>| rate.unwrap_or_default() * 100.0;
    let mut text = format!("the canary is {verdict}: ");
    // text takes text
    let _ = write!(
        text,
        "{:.2} % of {} sessions failed, of {stable} {:.2} % of {}; the difference is {:+.2} to {:+.2} \
         points, step {}",
        percent(rate),
        canary.tally.sessions,
        percent(beside),
        judged.stable_tally.sessions,
        interval.lower * 100.0,
        interval.upper * 100.0,
        judged.step.0,
    );
    text
}
