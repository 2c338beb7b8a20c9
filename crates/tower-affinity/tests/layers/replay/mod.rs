//! What the simulator's replicas decided and wrote, asked of the layers again: between a header and
//! the rule they add nothing and lose nothing.

mod replica;

use std::collections::BTreeMap;

use http::Response;
use http::header::SET_COOKIE;
use tower_affinity::Affinity;
use tower_affinity::core::{Cause, Decision, GroupRef, Kind, SessionId};
use tower_affinity_testing::sim::{self, Exchange, Written};
use tower_affinity_testing::{Jar, id};

use self::replica::Replica;
use crate::support::{Body, COOKIE_NAME, texts};

const SEEDS: u64 = 32;
const STEPS: u64 = 400;

/// Whether a session begins, whose id and draw are nobody's to foresee.
fn begins(exchange: &Exchange) -> bool {
    let decision = &exchange.decision;
    let pin = decision.pin.as_ref();
    let first = pin.is_some_and(|pin| (pin.moves, pin.started) == (0, pin.issued));
    let now = exchange.seen.now.whole_secs();
    match decision.kind {
        Kind::Assigned => true,
        // a pin that is as old as the request cannot be due for a renewal
        Kind::Overridden => decision.issue && first && pin.is_some_and(|pin| pin.started == now),
        _ => decision.cause == Cause::Connection,
    }
}

/// A decision without what is drawn by a fresh session id.
fn foreseen(decision: &Decision) -> Decision {
    let mut decision = decision.clone();
    if decision.kind != Kind::Overridden {
        decision.group = None;
    }
    if let Some(pin) = &mut decision.pin {
        pin.session = SessionId::from_random(0);
        if decision.kind != Kind::Overridden {
            pin.group = GroupRef::Known(id("g0"));
        }
    }
    let fresh = SessionId::from_random(0);
    decision.endpoint_key = decision.endpoint_key.map(|_| fresh.into());
    decision
}

/// What was compared, so that no part of it is empty.
#[derive(Debug, Default)]
struct Compared(BTreeMap<&'static str, u64>);

impl Compared {
    fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

fn compare(replica: &mut Replica, exchange: &Exchange, compared: &mut Compared) {
    let (response, got) = replica.play(exchange);
    let affinity: &Affinity = response.extensions().get().unwrap();
    let (is, must) = (affinity.decision(), &exchange.decision);
    let served_by = exchange.answer.as_ref().and_then(|a| a.served_by.as_ref());
    let left = served_by.is_some_and(|by| must.has_left_for(by));
    let fresh = begins(exchange);
    if fresh {
        assert_eq!(foreseen(is), foreseen(must));
    } else if left {
        assert_eq!(*is, must.clone().endpoint_lost());
        compared.count("an endpoint is left");
    } else {
        assert_eq!(is, must);
    }
    if must.endpoint().is_some() {
        compared.count("an endpoint is kept");
    }
    compared.count(must.kind.as_str());
    if let Some(got) = &got {
        assert_ne!(must.kind, Kind::Refused, "{must:?} was forwarded");
        let said = format!("{}; cause={}", must.kind.as_str(), must.cause.as_str());
        assert_eq!(texts(got, "affinity-group"), [is.group_label()]);
        assert_eq!(texts(got, "affinity-decision"), [said]);
        let session = is.session().map(|session| session.to_string());
        assert_eq!(texts(got, "affinity-session"), Vec::from_iter(session));
        assert_eq!(
            texts(got, "affinity-moved-from").len(),
            usize::from(is.moved_from().is_some())
        );
        for name in ["cookie", "affinity-pin", "affinity-override"] {
            assert!(!got.contains_key(name), "{name} was forwarded");
        }
    } else {
        assert_eq!(must.kind, Kind::Refused, "{must:?} was not forwarded");
    }
    written(&response, exchange, fresh, compared);
}

/// Holds what the answer does to the client's cookie against what the simulated one did.
fn written(response: &Response<Body>, exchange: &Exchange, fresh: bool, compared: &mut Compared) {
    let now = exchange.seen.now;
    let held = format!("{COOKIE_NAME}=held");
    let mut jar = Jar::default();
    jar.take(&held, now);
    for line in texts(response.headers(), SET_COOKIE.as_str()) {
        jar.take(line, now);
    }
    let clears = matches!(exchange.decision.cause, Cause::AbortedEnd | Cause::Gone);
    let writes = match (&exchange.answer, exchange.decision.kind) {
        (Some(answer), _) => answer.writes.clone(),
        (None, Kind::Refused) if clears => Written::Clearing,
        (None, Kind::Refused | Kind::Bypassed) => Written::Nothing,
        // no answer came back: its endpoint or its replica was gone
        (None, _) => return,
    };
    let same_key = exchange
        .answer
        .as_ref()
        .is_none_or(|a| a.seen.epoch == exchange.seen.epoch);
    match writes {
        Written::Nothing => {
            assert_eq!(jar.header(now), Some(held), "{exchange:?}");
            compared.count("nothing is written");
        }
        Written::Clearing => {
            assert_eq!(jar.header(now), None, "{exchange:?}");
            compared.count("a pin is cleared");
        }
        Written::Pin(token) if same_key && !fresh => {
            assert_eq!(jar.get(COOKIE_NAME), Some(token.as_str()), "{exchange:?}");
            compared.count("a pin is written");
        }
        Written::Pin(_) => {
            assert_ne!(jar.header(now), Some(held), "{exchange:?}");
            compared.count("another pin is written");
        }
    }
}

#[test]
fn the_layers_decide_forward_and_write_what_the_simulated_replicas_did() {
    let mut compared = Compared::default();
    let mut replicas: BTreeMap<usize, Replica> = BTreeMap::new();
    for seed in 0..SEEDS {
        for exchange in sim::record(seed, STEPS) {
            let epoch = exchange.seen.epoch;
            let replica = replicas.entry(epoch).or_insert_with(|| Replica::new(epoch));
            compare(replica, &exchange, &mut compared);
        }
    }
    let parts = [
        "assigned",
        "pinned",
        "moved",
        "overridden",
        "bypassed",
        "refused",
        "nothing is written",
        "a pin is cleared",
        "a pin is written",
        "another pin is written",
        "an endpoint is kept",
        "an endpoint is left",
    ];
    for part in parts {
        assert!(compared.0.contains_key(part), "{part}: {compared:?}");
    }
}
