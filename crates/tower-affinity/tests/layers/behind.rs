//! A replica whose states come from elsewhere, and pins that are newer than its state.

use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tower_affinity::core::{Clock, Revision, Timestamp};
use tower_affinity::{Reaching, RolloutSource, Rollouts};
use tower_affinity_testing::{HandClock, START, rollout};

use crate::support::{COOKIE_NAME, K1, OnItsWay, Site, ask};

/// A source that publishes nothing by itself and counts what it is asked.
#[derive(Clone, Default)]
struct Source(Arc<Mutex<Asked>>);

#[derive(Default)]
struct Asked {
    hints: Vec<Revision>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl RolloutSource for Source {
    fn hint(&self, revision: Revision) {
        self.0.lock().unwrap().hints.push(revision);
    }

    fn reach(&self, _: Revision) -> Reaching {
        let (sender, receiver) = oneshot::channel();
        self.0.lock().unwrap().waiting.push(sender);
        Box::pin(async move {
            receiver.await.expect("the source lives");
        })
    }
}

impl Source {
    fn hints(&self) -> Vec<Revision> {
        std::mem::take(&mut self.0.lock().unwrap().hints)
    }

    /// Everybody who waits goes on. Answers how many there were.
    fn wake(&self) -> usize {
        let waiting = std::mem::take(&mut self.0.lock().unwrap().waiting);
        let count = waiting.len();
        for waiter in waiting {
            let _ = waiter.send(());
        }
        count
    }
}

/// A replica at revision 20 that knows group C, and one at revision 10 that does not.
fn pair() -> (Site, Site, Source) {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let newest = rollout(20, &[("A", 50), ("C", 50)]);
    let ahead = Site::of(clock.clone(), newest, K1, |builder| builder);
    let source = Source::default();
    let rollouts = Rollouts::with_source(rollout(10, &[("A", 90), ("B", 10)]), source.clone());
    let behind = Site::of(clock, rollouts, K1, |builder| builder);
    (ahead, behind, source)
}

fn waits(site: &Site, token: &str) -> OnItsWay {
    let cookie = format!("{COOKIE_NAME}={token}");
    let request = site.start(ask("GET", "/", &[("cookie", &cookie)]));
    assert_eq!(
        request.group(),
        None,
        "it is not sent on before it is decided"
    );
    request
}

fn publish(site: &Site, from: &Site) {
    let newer = (*from.rollouts.current()).clone();
    let published: Result<_, ()> = site.rollouts.update(|_| Ok(newer));
    published.unwrap();
}

#[test]
fn an_unknown_group_waits_for_the_newer_state_and_is_obeyed() {
    let (ahead, behind, source) = pair();
    let waiting = waits(&behind, &ahead.token("C"));
    publish(&behind, &ahead);
    assert_eq!(source.wake(), 1);
    let seen = waiting.arrive_asked(&behind);
    assert_eq!(seen.said(), "pinned/ok@C");
    assert_eq!(seen.forwarded("affinity-pin").len(), 0);
}

#[test]
fn a_proof_that_nothing_is_newer_moves_the_session() {
    let (ahead, behind, source) = pair();
    let waiting = waits(&behind, &ahead.token("C"));
    let raised: Result<_, ()> = behind.rollouts.update(|now| Ok(now.raised(Revision(20))));
    assert_eq!(raised.unwrap().revision(), Revision(20));
    source.wake();
    let seen = waiting.arrive_asked(&behind);
    assert!(seen.said().starts_with("moved/gone@"), "{}", seen.said());
    let pin = behind.open(&seen.cookie().expect("the moved pin"));
    assert_eq!((pin.revision, pin.moves), (Revision(20), 1));
}

#[test]
fn without_a_proof_the_answer_is_503_and_the_cookie_stays_for_ten_seconds() {
    let (ahead, behind, source) = pair();
    let token = ahead.token("C");
    for _ in 0..2 {
        let waiting = waits(&behind, &token);
        source.wake();
        let seen = waiting.arrive_asked(&behind);
        assert_eq!(seen.said(), "refused/behind@unknown");
        assert_eq!(seen.status(), 503);
        assert_eq!(seen.header("retry-after"), Some("1"));
        let body = String::from_utf8(seen.body().to_vec()).unwrap();
        assert!(body.contains("state-behind"), "{body}");
        assert!(seen.is_silent(), "the cookie is untouched");
        behind.advance(5);
    }
    let waiting = waits(&behind, &token);
    source.wake();
    let seen = waiting.arrive_asked(&behind);
    assert!(seen.said().starts_with("moved/gone@"), "{}", seen.said());
}

#[test]
fn catching_up_ends_the_time_that_counts_as_behind() {
    let (ahead, behind, source) = pair();
    let waiting = waits(&behind, &ahead.token("C"));
    source.wake();
    assert_eq!(waiting.arrive_asked(&behind).status(), 503);
    behind.advance(60);
    publish(&behind, &ahead);
    let further = Site::of(
        HandClock::at(behind.clock.now()),
        rollout(30, &[("A", 50), ("D", 50)]),
        K1,
        |builder| builder,
    );
    let waiting = waits(&behind, &further.token("D"));
    source.wake();
    assert_eq!(
        waiting.arrive_asked(&behind).said(),
        "refused/behind@unknown",
        "behind for a moment, not for a minute"
    );
}

#[test]
fn a_known_group_in_a_newer_pin_is_obeyed_at_once_and_the_state_is_fetched() {
    let (ahead, behind, source) = pair();
    assert_eq!(behind.get_with(&ahead.token("A")).said(), "pinned/behind@A");
    assert_eq!(source.hints(), [Revision(20)]);
    assert_eq!(behind.revision(), Revision(10), "only the source raises it");
    assert_eq!(behind.rollouts.greatest(), Revision(20));
    assert_eq!(behind.get_with(&behind.token("A")).said(), "pinned/ok@A");
    assert!(source.hints().is_empty());
}

#[test]
fn at_most_1024_requests_wait() {
    let (ahead, behind, source) = pair();
    let token = ahead.token("C");
    let mut waiting: Vec<_> = (0..1_024).map(|_| waits(&behind, &token)).collect();
    let seen = behind.get_with(&token);
    assert_eq!(seen.said(), "refused/behind@unknown");
    // one that goes away makes room
    waiting.pop();
    let last = waits(&behind, &token);
    publish(&behind, &ahead);
    assert_eq!(source.wake(), 1_025);
    for request in waiting.into_iter().chain([last]) {
        assert_eq!(request.arrive_asked(&behind).said(), "pinned/ok@C");
    }
}
