//! What requests did so far, by group, and between two looks.

use std::collections::BTreeMap;

use super::exposition::samples;

const REQUESTS: &str = "affinity_requests_total";
const DURATIONS: &str = "affinity_request_duration_seconds_bucket";
const LOGIN: &str = "affinity_auth_burst";

/// What was counted of each group.
pub(super) type Counts = BTreeMap<String, GroupCounts>;

/// What was counted of one group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GroupCounts {
    /// Requests that began a session, obeyed a pin, moved, and all others.
    pub(super) decisions: [f64; 4],
    /// Requests and those of them that failed, by cohort.
    pub(super) cohorts: BTreeMap<String, (f64, f64)>,
    /// Requests that took at most so long, by the bound in the order of the page; the last one has
    /// none.
    pub(super) durations: Vec<(f64, f64)>,
    /// Whether sessions that were moved to it fail to authenticate now.
    pub(super) lost_login: bool,
}

/// Sums a page of metrics up.
pub(super) fn counts(page: &str) -> Counts {
    let mut counts = Counts::new();
    for sample in samples(page) {
        if !matches!(sample.name, REQUESTS | DURATIONS | LOGIN) {
            continue;
        }
        let Some(group) = sample.label("group") else {
            continue;
        };
        if !counts.contains_key(group) {
            counts.insert(group.to_owned(), GroupCounts::default());
        }
        let Some(counts) = counts.get_mut(group) else {
            continue;
        };
        if sample.name == LOGIN {
            counts.lost_login = sample.value > 0.0;
        } else if sample.name == REQUESTS {
            let label = |name| sample.label(name).unwrap_or_default();
            counts.request(
                label("decision"),
                label("cohort"),
                label("code_class"),
                sample.value,
            );
        } else if let Some(bound) = sample.label("le").and_then(bound) {
            counts.duration(bound, sample.value);
        }
    }
    counts
}

fn bound(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        number => number.parse().ok(),
    }
}

impl GroupCounts {
    fn request(&mut self, decision: &str, cohort: &str, class: &str, count: f64) {
        let [new, pinned, moved, other] = &mut self.decisions;
        *match decision {
            "assigned" => new,
            "pinned" => pinned,
            "moved" => moved,
            _ => other,
        } += count;
        let (requests, failed) = self.cohorts.entry(cohort.to_owned()).or_default();
        *requests += count;
        if matches!(class, "5xx" | "error") {
            *failed += count;
        }
    }

    fn duration(&mut self, bound: f64, count: f64) {
        match self.durations.iter_mut().find(|(other, _)| *other == bound) {
            Some((_, sum)) => *sum += count,
            None => self.durations.push((bound, count)),
        }
    }

    /// What came since an earlier look.
    pub(super) fn since(&self, earlier: Option<&Self>) -> Self {
        let Some(earlier) = earlier else {
            return self.clone();
        };
        let mut decisions = self.decisions;
        for (now, then) in decisions.iter_mut().zip(earlier.decisions) {
            *now = (*now - then).max(0.0);
        }
        let cohorts = self.cohorts.iter().map(|(name, (requests, failed))| {
            let (before, failed_before) = earlier.cohorts.get(name).copied().unwrap_or_default();
            let since = (
                (requests - before).max(0.0),
                (failed - failed_before).max(0.0),
            );
            (name.clone(), since)
        });
        let durations = self.durations.iter().map(|(bound, count)| {
            let mut before = earlier.durations.iter();
            let before = before
                .find(|(other, _)| other == bound)
                .map_or(0.0, |b| b.1);
            (*bound, (count - before).max(0.0))
        });
        Self {
            decisions,
            cohorts: cohorts.collect(),
            durations: durations.collect(),
            lost_login: self.lost_login,
        }
    }

    /// The time that the part `share` of requests took at most, between the bounds of its bucket;
    /// above the last bound that one. `None` without requests.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let all = self.durations.last().map(|(_, count)| *count)?;
        if all <= 0.0 {
            return None;
        }
        let rank = all * share;
        let (mut low, mut below) = (0.0, 0.0);
        for (bound, count) in &self.durations {
            if *count >= rank {
                let inside = count - below;
                let part = if inside > 0.0 {
                    (rank - below) / inside
                } else {
                    1.0
                };
                return Some(if bound.is_finite() {
                    low + (bound - low) * part
                } else {
                    low
                });
            }
            (low, below) = (*bound, *count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    const PAGE: &str = r#"
affinity_requests_total{group="aaa",cohort="current",decision="assigned",cause="new",code_class="2xx"} 10
affinity_requests_total{group="aaa",cohort="current",decision="pinned",cause="ok",code_class="5xx"} 4
affinity_requests_total{group="aaa",cohort="established",decision="pinned",cause="ok",code_class="2xx"} 30
affinity_requests_total{group="aaa",cohort="none",decision="refused",cause="early",code_class="4xx"} 1
affinity_requests_total{group="bbb",cohort="moved",decision="moved",cause="aborted",code_class="error"} 2
affinity_request_duration_seconds_bucket{group="aaa",cohort="current",le="0.1"} 5
affinity_request_duration_seconds_bucket{group="aaa",cohort="current",le="0.2"} 10
affinity_request_duration_seconds_bucket{group="aaa",cohort="current",le="+Inf"} 10
affinity_request_duration_seconds_bucket{group="aaa",cohort="established",le="0.1"} 5
affinity_request_duration_seconds_bucket{group="aaa",cohort="established",le="0.2"} 10
affinity_request_duration_seconds_bucket{group="aaa",cohort="established",le="+Inf"} 10
affinity_sessions_live{group="aaa"} 7
affinity_auth_burst{group="aaa"} 0
affinity_auth_burst{group="bbb"} 1
"#;

    #[test]
    fn requests_are_summed_by_what_was_decided_and_by_cohort() {
        let counts = counts(PAGE);
        let aaa = &counts["aaa"];
        assert_eq!(aaa.decisions, [10.0, 34.0, 0.0, 1.0]);
        assert_eq!(aaa.cohorts["current"], (14.0, 4.0));
        assert_eq!(aaa.cohorts["established"], (30.0, 0.0));
        assert_eq!(counts["bbb"].decisions, [0.0, 0.0, 2.0, 0.0]);
        assert_eq!(counts["bbb"].cohorts["moved"], (2.0, 2.0));
        assert_eq!(
            [aaa, &counts["bbb"]].map(|group| group.lost_login),
            [false, true]
        );
    }

    #[test]
    fn quantiles_lie_within_their_bucket() {
        let aaa = &counts(PAGE)["aaa"];
        assert_eq!(
            aaa.durations,
            [(0.1, 10.0), (0.2, 20.0), (f64::INFINITY, 20.0)]
        );
        assert!((aaa.quantile(0.5).unwrap() - 0.1).abs() < 1e-9);
        assert!((aaa.quantile(0.95).unwrap() - 0.19).abs() < 1e-9);
        assert_eq!(GroupCounts::default().quantile(0.5), None, "no request");
        let slow = GroupCounts {
            durations: vec![(0.1, 0.0), (f64::INFINITY, 3.0)],
            ..GroupCounts::default()
        };
        assert_eq!(
            slow.quantile(0.5),
            Some(0.1),
            "above the last bound is that one"
        );
    }

    #[test]
    fn only_what_came_since_counts() {
        let now = counts(PAGE);
        let aaa = &now["aaa"];
        let nothing = aaa.since(Some(aaa));
        assert_eq!(nothing.decisions, [0.0; 4]);
        assert_eq!(nothing.quantile(0.5), None);
        assert_eq!(&aaa.since(None), aaa, "all of a group that is new");
        let mut earlier = aaa.clone();
        earlier.decisions = [9.0, 40.0, 0.0, 0.0];
        let since = aaa.since(Some(&earlier)).decisions;
        assert_eq!(
            since,
            [1.0, 0.0, 0.0, 1.0],
            "a counter that went back is no rate"
        );
    }
}
