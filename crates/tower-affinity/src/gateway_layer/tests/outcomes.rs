//! What becomes of sessions: counted once, and said by their pins.

use std::time::Duration;

use tower_affinity_core::analysis::Tally;
use tower_affinity_core::{AbortPolicy, AbortRequest, AlwaysReady, Lifetimes, Outcomes, PinCodec};
use tower_affinity_testing::after;

use super::*;
use crate::signal::Outcome;

const KEY: &str = "k1:q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE";

/// Headers of an answer.
type Words = &'static [(&'static str, &'static str)];

/// What the pin of an answer says; `None` if it carries none.
fn outcomes(response: &Response<Bytes>) -> Option<Outcomes> {
    let token = response.headers().get("affinity-pin")?.as_bytes();
    let keyring = Keyring::parse(KEY).unwrap();
    let codec = PinCodec::new("checkout".parse().unwrap(), keyring.as_core());
    let now = crate::SystemClock::new();
    let now = tower_affinity_core::Clock::now(&now);
    Some(
        codec
            .open(token, now, Lifetimes::default())
            .unwrap()
            .pin
            .outcomes,
    )
}

fn counted(site: &Site, series: &str) -> f64 {
    site.metrics.take().get(series).copied().unwrap_or_default()
}

const FAILED: &str = "affinity_sessions_failed_total{group=a,cohort=current}";

async fn one_group() -> (Site, String) {
    let site = Site::new(rollout(1, &[("a", 1)]));
    let first = pin(&site.send(get(None), says(200, &[])).await);
    site.metrics.take();
    (site, first)
}

#[tokio::test]
async fn a_session_fails_once_and_its_pin_says_so() {
    let (site, first) = one_group().await;
    let failed = site.send(get(Some(&first)), says(500, &[])).await;
    assert_eq!(outcomes(&failed), Some(Outcomes::FAILED));
    assert_eq!(counted(&site, FAILED), 1.0);
    let parallel = site.send(get(Some(&first)), says(503, &[])).await;
    assert_eq!(
        outcomes(&parallel),
        Some(Outcomes::FAILED),
        "it did not know"
    );
    let after = site.send(get(Some(&pin(&failed))), says(500, &[])).await;
    assert_eq!(outcomes(&after), None, "its pin says so already");
    for status in [200, 304, 404] {
        let fine = site.send(get(Some(&first)), says(status, &[])).await;
        assert_eq!(outcomes(&fine), None, "{status}");
    }
    assert_eq!(counted(&site, FAILED), 0.0, "it was counted again");
}

#[tokio::test]
async fn a_session_that_fails_at_its_first_request_begins_with_that() {
    let (site, _) = one_group().await;
    let first = site.send(get(None), says(500, &[])).await;
    assert_eq!(outcomes(&first), Some(Outcomes::FAILED));
    let again = site.send(get(Some(&pin(&first))), says(500, &[])).await;
    assert_eq!(outcomes(&again), None);
    assert_eq!(counted(&site, FAILED), 1.0);
}

#[tokio::test]
async fn an_error_that_we_made_is_a_failure_that_no_pin_can_say() {
    let (site, first) = one_group().await;
    let closed: Application = Arc::new(|_| Err(UpstreamFault::Closed));
    for _ in 0..3 {
        let response = site.send(get(Some(&first)), Arc::clone(&closed)).await;
        assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
        assert_eq!(outcomes(&response), None);
    }
    assert_eq!(counted(&site, FAILED), 1.0, "once for each session");
    site.groups.clear(&name("a"));
    let other = {
        let site = Site::new(rollout(1, &[("a", 1)]));
        pin(&site.send(get(None), says(200, &[])).await)
    };
    site.send(get(Some(&other)), says(200, &[])).await;
    assert_eq!(counted(&site, FAILED), 1.0, "a group without an endpoint");
}

#[tokio::test]
async fn the_application_says_what_became_of_a_flow() {
    let both = Outcomes::FAILED.and(Outcomes::COMPLETED);
    let lines: [(Words, _, _); 6] = [
        (
            &[("affinity-outcome", "failure")],
            Some(Outcomes::FAILED),
            0.0,
        ),
        (
            &[("affinity-outcome", " success ")],
            Some(Outcomes::COMPLETED),
            0.0,
        ),
        (
            &[
                ("affinity-outcome", "success"),
                ("affinity-outcome", "failure"),
            ],
            Some(both),
            0.0,
        ),
        (&[("affinity-outcome", "Success")], None, 1.0),
        (&[("affinity-outcome", "")], None, 1.0),
        (
            &[("affinity-outcome", "?"), ("affinity-outcome", "failure")],
            Some(Outcomes::FAILED),
            1.0,
        ),
    ];
    for (headers, expected, ignored) in lines {
        let (site, first) = one_group().await;
        let response = site.send(get(Some(&first)), says(200, headers)).await;
        assert_eq!(outcomes(&response), expected, "{headers:?}");
        assert!(!response.headers().contains_key("affinity-outcome"));
        let seen = site.metrics.take();
        let count = |series: &str| seen.get(series).copied().unwrap_or_default();
        assert_eq!(
            count("affinity_signals_ignored_total{}"),
            ignored,
            "{headers:?}"
        );
        let has = |flag| f64::from(u8::from(expected.is_some_and(|o| o.contains(flag))));
        assert_eq!(count(FAILED), has(Outcomes::FAILED), "{headers:?}");
        let completed = "affinity_sessions_completed_total{group=a,cohort=current}";
        assert_eq!(count(completed), has(Outcomes::COMPLETED), "{headers:?}");
    }
    let (site, first) = one_group().await;
    let handler: Application = Arc::new(|_| {
        let mut response = Response::new(Full::from("done"));
        response.extensions_mut().insert(Outcome::Failure);
        Ok(response)
    });
    let response = site.send(get(Some(&first)), handler).await;
    assert_eq!(
        outcomes(&response),
        Some(Outcomes::FAILED),
        "in one process"
    );
}

#[tokio::test]
async fn a_session_is_slow_once_a_head_takes_too_long() {
    let slow = "affinity_sessions_slow_total{group=a,cohort=current}";
    let (mut site, first) = one_group().await;
    site.send(get(Some(&first)), says(200, &[])).await;
    assert_eq!(counted(&site, slow), 0.0, "a second is accepted by default");
    site.layer = site.layer.clone().slow(Duration::ZERO);
    let late = site.send(get(Some(&first)), says(200, &[])).await;
    assert_eq!(outcomes(&late), Some(Outcomes::SLOW));
    let again = site.send(get(Some(&pin(&late))), says(200, &[])).await;
    assert_eq!(outcomes(&again), None);
    assert_eq!(counted(&site, slow), 1.0);
}

#[tokio::test]
async fn an_end_that_is_a_failure_itself_is_one() {
    let (site, first) = one_group().await;
    let bye = says(500, &[("affinity-session", "end")]);
    let ended = site.send(get(Some(&first)), bye).await;
    assert_eq!(pin(&ended), "", "its pin is cleared");
    let seen = site.metrics.take();
    for series in [
        "affinity_sessions_failed_total{group=a,cohort=current}",
        "affinity_sessions_ended_total{group=a,cohort=current,outcome=failure}",
    ] {
        assert_eq!(seen.get(series), Some(&1.0), "{series} of {seen:?}");
    }
}

#[tokio::test]
async fn a_session_ends_once_and_the_last_word_tells_how() {
    let lines: [(Words, Words, _); 7] = [
        (&[], &[], "unknown"),
        (&[("affinity-outcome", "success")], &[], "success"),
        (&[("affinity-outcome", "failure")], &[], "failure"),
        (&[], &[("affinity-outcome", "success")], "success"),
        (&[], &[("affinity-outcome", "failure")], "failure"),
        (
            &[("affinity-outcome", "failure")],
            &[("affinity-outcome", "success")],
            "success",
        ),
        (
            &[("affinity-outcome", "success")],
            &[("affinity-outcome", "failure")],
            "failure",
        ),
    ];
    for (before, last, outcome) in lines {
        let (site, first) = one_group().await;
        let second = site.send(get(Some(&first)), says(200, before)).await;
        let held = outcomes(&second).map_or(first, |_| pin(&second));
        let bye: Application = Arc::new(move |_| {
            let mut response = Response::builder().header("affinity-session", "end");
            for (name, value) in last {
                response = response.header(*name, *value);
            }
            Ok(response.body(Full::from("bye")).unwrap())
        });
        for _ in 0..2 {
            let ended = site.send(get(Some(&held)), Arc::clone(&bye)).await;
            assert_eq!(pin(&ended), "", "its pin is cleared");
        }
        let seen = site.metrics.take();
        let ends = seen
            .iter()
            .filter(|(series, _)| series.contains("ended_total"));
        let series =
            format!("affinity_sessions_ended_total{{group=a,cohort=current,outcome={outcome}}}");
        assert_eq!(
            ends.collect::<Vec<_>>(),
            [(&series, &1.0)],
            "{before:?} {last:?}"
        );
        let live = site.metrics.recorder.live_sessions(&name("a"), now(&site));
        assert_eq!(live, 0, "an ended session is live");
    }
}

fn now(_: &Site) -> Timestamp {
    tower_affinity_core::Clock::now(&crate::SystemClock::new())
}

#[tokio::test]
async fn a_session_that_we_end_is_aborted() {
    let site = Site::new(rollout(1, &[("a", 1), ("b", 0)]));
    let first = pin(&site.send(get(None), says(200, &[])).await);
    site.send(get(Some(&first)), says(200, &[])).await;
    let live = || site.metrics.recorder.live_sessions(&name("a"), now(&site));
    assert_eq!(live(), 1);
    let current = site.rollouts.current();
    let promoted = current
        .promote(&name("b"), after(&current, now(&site)))
        .unwrap();
    let request = AbortRequest {
        policy: Some(AbortPolicy::End),
        ..AbortRequest::default()
    };
    let change = after(&promoted, now(&site));
    let aborted = promoted
        .abort(&name("a"), &request, &AlwaysReady, change)
        .unwrap();
    site.rollouts
        .update(|_| Ok::<_, Infallible>(aborted))
        .unwrap();
    for _ in 0..2 {
        let refused = site.send(get(Some(&first)), says(200, &[])).await;
        assert_eq!(refused.status(), StatusCode::CONFLICT);
    }
    let seen = site.metrics.take();
    let ended = "affinity_sessions_ended_total{group=a,cohort=established,outcome=aborted}";
    assert_eq!(seen.get(ended), Some(&1.0), "{seen:#?}");
    assert_eq!(live(), 0);
}

#[tokio::test]
async fn a_session_that_moves_takes_what_became_of_it_along() {
    let site = Site::new(rollout(1, &[("a", 1), ("b", 0)]));
    let first = pin(&site.send(get(None), says(500, &[])).await);
    let current = site.rollouts.current();
    let promoted = current
        .promote(&name("b"), after(&current, now(&site)))
        .unwrap();
    let change = after(&promoted, now(&site));
    let aborted = promoted
        .abort(&name("a"), &AbortRequest::default(), &AlwaysReady, change)
        .unwrap();
    site.rollouts
        .update(|_| Ok::<_, Infallible>(aborted))
        .unwrap();
    let moved = site.send(get(Some(&first)), says(500, &[])).await;
    assert_eq!(
        site.got("affinity-decision").unwrap(),
        "moved; cause=aborted"
    );
    assert_eq!(outcomes(&moved), Some(Outcomes::FAILED));
    let seen = site.metrics.take();
    let failures: f64 = seen
        .iter()
        .filter(|(series, _)| series.starts_with("affinity_sessions_failed_total"))
        .map(|(_, count)| *count)
        .sum();
    assert_eq!(failures, 1.0, "{seen:#?}");
    let live = |group| {
        site.metrics
            .recorder
            .live_sessions(&name(group), now(&site))
    };
    assert_eq!((live("a"), live("b")), (0, 1), "it lives where it is");
}

#[tokio::test]
async fn a_canary_is_judged_by_sessions_since_the_step_beside_all_requests() {
    let site = Site::new(rollout(1, &[("a", 1)]));
    let recorder = site.metrics.recorder.clone();
    let tally = || {
        let tallies = recorder.tallies().unwrap();
        (tallies.step, tallies.of(&name("a")).tally)
    };
    assert_eq!(recorder.tallies(), None, "nothing was decided yet");
    // this process has served for long
    recorder.step(&site.rollouts.current(), Timestamp::from_secs(1));
    let first = pin(&site.send(get(None), says(200, &[])).await);
    let second = pin(&site.send(get(None), says(500, &[])).await);
    let closed: Application = Arc::new(|_| Err(UpstreamFault::Closed));
    site.send(get(None), closed).await;
    for (pin, status) in [(&first, 200), (&first, 500), (&first, 500), (&second, 500)] {
        site.send(get(Some(pin)), says(status, &[])).await;
    }
    site.send(
        get(Some(&second)),
        says(200, &[("affinity-outcome", "success")]),
    )
    .await;
    let expected = Tally {
        sessions: 3,
        failed: 3,
        completed: 1,
        slow: 0,
        requests: 8,
        failed_requests: 5,
    };
    assert_eq!(tally(), (Revision(1), expected));
    let current = site.rollouts.current();
    let weights = [(name("a"), tower_affinity_core::Weight::new(2).unwrap())].into();
    let stepped = current.weights(&weights, after(&current, now(&site)));
    let stepped = stepped.expect("a weight of the only group");
    site.rollouts
        .update(|_| Ok::<_, Infallible>(stepped))
        .unwrap();
    site.send(get(Some(&first)), says(500, &[])).await;
    let expected = Tally {
        requests: 1,
        failed_requests: 1,
        ..Tally::default()
    };
    assert_eq!(
        tally(),
        (Revision(2), expected),
        "an older session is no measure of the step"
    );
}
