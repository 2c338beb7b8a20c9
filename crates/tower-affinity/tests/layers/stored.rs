//! A store of assignments behind the layer: what it is told, and what its answer changes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tower_affinity::core::{
    AbortPolicy, AbortRequest, Claim, Clock, DrawSalt, GroupId, GroupRef, LiveCounts, MoveCause,
    PinStore, Revision, RowCodec, RowFault, RowKey, SessionId, SessionPin, StoreCall, StoreError,
    Terms, Timestamp,
};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{ClientAddr, Reaching, RolloutSource, Rollouts};
use tower_affinity_testing::store::PlainStore;
use tower_affinity_testing::{HandClock, START, name, rollout};

use crate::support::{COOKIE_NAME, K1, Seen, Site, TI, ask};
use crate::weights::weigh;

/// How a store is today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mood {
    /// It answers at once.
    #[default]
    Ready,
    /// It answers when it is polled.
    Later,
    /// It fails at once.
    Failing,
}

/// A store that is watched.
#[derive(Clone, Debug)]
struct Watched {
    plain: PlainStore,
    mood: Arc<Mutex<Mood>>,
    told: Arc<Mutex<Vec<&'static str>>>,
}

impl Watched {
    fn new() -> Self {
        Self {
            plain: PlainStore::new(RowCodec::new("checkout".parse().unwrap())),
            mood: Arc::default(),
            told: Arc::default(),
        }
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// What it was told since it was asked last.
    fn told(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    fn call<T: Send + 'static>(
        &self,
        word: &'static str,
        call: impl FnOnce(&PlainStore) -> StoreCall<T> + Send + 'static,
    ) -> StoreCall<T> {
        self.told.lock().unwrap().push(word);
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Ready => call(&self.plain),
            Mood::Later => {
                let plain = self.plain.clone();
                StoreCall::later(async move { call(&plain).await })
            }
            Mood::Failing => StoreCall::failed(StoreError::new("it is away")),
        }
    }
}

impl PinStore for Watched {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        self.call("load", move |plain| plain.load(key, terms))
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        self.call("claim", move |plain| plain.claim(claim))
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        self.call("replace", move |plain| plain.replace(key, pin, terms))
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        self.call("remove", move |plain| plain.remove(key, session))
    }

    fn absent(&self, fault: RowFault) -> u64 {
        self.plain.absent(fault)
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        self.plain.live(now)
    }

    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        self.plain.upkeep(now)
    }
}

/// A site that keeps assignments, by the header `x-user` where a request has it.
fn site() -> (Site, Watched) {
    let store = Watched::new();
    let kept = store.clone();
    let scope = Scope::new(PathPattern::all()).assign(AssignBy::Header("x-user".parse().unwrap()));
    let site = Site::with(|builder| builder.store(kept).scope(scope));
    (site, store)
}

fn user(site: &Site, name: &str) -> Seen {
    site.get(&[("x-user", name)])
}

fn key_of(pin: &SessionPin) -> RowKey {
    RowKey::Session(pin.session)
}

fn key_of_user(user: &str) -> RowKey {
    let salt = DrawSalt::new(&"checkout".parse().unwrap());
    RowKey::Named(salt.key_of("x-user", user.as_bytes()))
}

fn row(site: &Site, store: &Watched, key: RowKey) -> Option<SessionPin> {
    let terms = Terms {
        now: site.clock.now(),
        lifetimes: Default::default(),
    };
    match store.plain.load(key, terms) {
        StoreCall::Ready(row) => row.unwrap().unwrap(),
        StoreCall::Later(_) => panic!("a plain store does not wait"),
    }
}

fn plant(site: &Site, store: &Watched, key: RowKey, pin: &SessionPin) {
    let terms = Terms {
        now: site.clock.now(),
        lifetimes: Default::default(),
    };
    drop(store.plain.replace(key, pin.clone(), terms));
}

fn moved(site: &Site, pin: &SessionPin, to: &str) -> SessionPin {
    let to = GroupId::new(name(to), 1);
    let (revision, now) = (site.revision(), site.clock.now());
    pin.moved(to, MoveCause::GroupDown, revision, now, Default::default())
}

#[test]
fn who_shows_neither_a_pin_nor_a_key_is_unknown_to_the_store() {
    let (site, store) = site();
    for mood in [Mood::Ready, Mood::Later, Mood::Failing] {
        store.is(mood);
        let seen = site.get(&[]);
        assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
        assert!(seen.cookie().is_some());
        assert_eq!(store.told(), [""; 0], "{mood:?}");
    }
    assert!(store.plain.is_empty());
    site.get(&[("x-user", ""), ("origin", "x")]);
    let preflight = ask(
        "OPTIONS",
        "/",
        &[("access-control-request-method", "PUT"), ("x-user", "ann")],
    );
    assert!(
        site.send(preflight)
            .said()
            .starts_with("assigned/preflight")
    );
    assert_eq!(store.told(), [""; 0], "a preflight opens no session");
}

#[test]
fn each_request_of_a_session_is_one_command_and_its_row_is_kept_alive() {
    for mood in [Mood::Ready, Mood::Later] {
        let (site, store) = site();
        store.is(mood);
        let token = site.get(&[]).cookie().unwrap();
        assert!(store.plain.is_empty(), "a first request has made a row");
        let mut token = token;
        let mut renewals = 0;
        for _ in 0..12 {
            site.advance(TI / 8);
            let seen = site.get_with(&token);
            let told = store.told();
            assert_eq!(told.len(), 1, "{told:?}");
            let pin = site.open(&token);
            if let Some(renewed) = seen.cookie() {
                renewals += 1;
                assert_eq!(told, ["replace"], "a renewal touches the row");
                token = renewed;
            }
            let row = row(&site, &store, key_of(&pin)).expect("a live session has a row");
            assert_eq!(row.expires, site.open(&token).expires);
        }
        assert_eq!(renewals, 6, "{mood:?}");
    }
}

#[test]
fn a_client_that_carries_nothing_but_an_id_stays_and_moves_once() {
    let (site, store) = site();
    let first = user(&site, "ann");
    assert!(
        first.said().starts_with("assigned/keyed@"),
        "{}",
        first.said()
    );
    let (group, session) = (
        first.affinity().group().to_owned(),
        first.affinity().session(),
    );
    let other = if group == "A" { "B" } else { "A" };
    weigh(&site, &[(&group, 0), (other, 1)]);
    store.told();
    for _ in 0..3 {
        let seen = user(&site, "ann");
        assert_eq!(seen.said(), format!("pinned/ok@{group}"));
        assert_eq!(seen.affinity().session(), session);
        assert!(seen.cookie().is_some(), "the client could take its pin");
        assert_eq!(store.told(), ["claim"]);
    }
    let to = Some(name(other));
    site.abort_with(
        &group,
        &AbortRequest {
            to,
            ..AbortRequest::default()
        },
    );
    let seen = user(&site, "ann");
    assert_eq!(seen.said(), format!("moved/aborted@{other}"));
    assert_eq!(store.told(), ["claim", "replace"]);
    let seen = user(&site, "ann");
    assert_eq!(seen.said(), format!("pinned/ok@{other}"), "it moves again");
    let moved = seen.affinity().decision().moved_from().cloned();
    assert!(moved.is_some(), "the application does not know yet");
}

#[test]
fn a_pin_decides_and_a_later_one_in_the_store_overrules_it() {
    let (site, store) = site();
    let pin = site.pin("A");
    let token = site.seal(&pin);
    site.get_with(&token);
    assert_eq!(store.told(), ["claim"]);
    // another replica has moved the session, and its answer was lost
    let later = moved(&site, &pin, "B");
    plant(&site, &store, key_of(&pin), &later);
    let seen = site.get_with(&token);
    assert_eq!(seen.said(), "pinned/ok@B");
    assert_eq!(
        site.open(&seen.cookie().unwrap()),
        later,
        "the client hears of it"
    );
    assert_eq!(store.told(), ["claim"]);
    // the store has lost that: the client's pin is the later one, and mends the row
    drop(store.plain.remove(key_of(&pin), pin.session));
    plant(&site, &store, key_of(&pin), &pin);
    let seen = site.get_with(&site.seal(&later));
    assert_eq!(seen.said(), "pinned/ok@B");
    assert!(seen.is_silent());
    assert_eq!(store.told(), ["claim", "replace"]);
    assert_eq!(row(&site, &store, key_of(&pin)), Some(later));
}

#[test]
fn parallel_requests_of_one_session_move_to_one_place() {
    let (site, store) = site();
    let pin = site.pin("B");
    let token = site.seal(&pin);
    site.get_with(&token);
    site.abort("B");
    let first = site.get_with(&token);
    let second = site.get_with(&token);
    assert_eq!(first.said(), "moved/aborted@A");
    let [first, second] = [first, second].map(|seen| site.open(&seen.cookie().unwrap()));
    assert_eq!(first, second);
    assert_eq!(store.plain.len(), 1);
}

#[test]
fn a_row_of_somebody_else_with_the_same_key_never_overrules_a_pin() {
    let (site, store) = site();
    let theirs = SessionPin {
        session: SessionId::from_random(99),
        ..site.pin("B")
    };
    plant(&site, &store, key_of_user("ann"), &theirs);
    let ours = site.pin("A");
    let cookie = format!("{COOKIE_NAME}={}", site.seal(&ours));
    let seen = site.get(&[("x-user", "ann"), ("cookie", &cookie)]);
    assert_eq!(seen.said(), "pinned/ok@A");
    assert_eq!(seen.affinity().session(), Some(ours.session));
    assert_eq!(row(&site, &store, key_of_user("ann")), Some(theirs.clone()));
    let seen = user(&site, "ann");
    assert_eq!(seen.said(), "pinned/ok@B", "the first claim wins");
    assert_eq!(seen.affinity().session(), Some(theirs.session));
}

/// What a client chooses is never the key of what somebody else has set, such as a proxy in front.
#[test]
fn a_key_from_one_place_never_finds_the_row_of_another() {
    let scope = |path: &str, assign| Scope::new(path.parse().unwrap()).assign(assign);
    let (header, other) = ("x-user".parse().unwrap(), "x-device".parse().unwrap());
    let site = Site::with(|builder| {
        builder
            .store(Watched::new())
            .scope(scope("/header/*", AssignBy::Header(header)))
            .scope(scope("/other/*", AssignBy::Header(other)))
            .scope(scope("/cookie/*", AssignBy::Cookie("uid".into())))
            .scope(scope("/address/*", AssignBy::Address))
    });
    // an address whose octets are text as well
    let client = "97.98.99.100".parse().unwrap();
    let session = |path, header| {
        let mut request = ask("GET", path, &[header]);
        request.extensions_mut().insert(ClientAddr(client));
        site.send(request).affinity().session().unwrap()
    };
    let sessions = || {
        [
            session("/header/", ("x-user", "abcd")),
            session("/other/", ("x-device", "abcd")),
            session("/cookie/", ("cookie", "uid=abcd")),
            session("/address/", ("x-user", "abcd")),
        ]
    };
    let first = sessions();
    assert_eq!(sessions(), first, "the store has their rows");
    let apart: HashSet<_> = first.into_iter().collect();
    assert_eq!(apart.len(), first.len(), "one has the session of another");
}

/// Rules §3 and §9: a store that lies costs nobody who holds a pin an answer.
#[test]
fn a_row_of_a_state_that_nobody_knows_refuses_no_pin() {
    struct Silent;

    impl RolloutSource for Silent {
        fn hint(&self, _: Revision) {}

        fn reach(&self, _: Revision) -> Reaching {
            Box::pin(std::future::ready(()))
        }
    }

    let store = Watched::new();
    let clock = HandClock::at(Timestamp::from_secs(START));
    let rollouts = Rollouts::with_source(rollout(10, &[("A", 90), ("B", 10)]), Silent);
    let site = Site::of(clock, rollouts, K1, |builder| builder.store(store.clone()));
    let own = site.pin("B");
    let mut made_up = moved(&site, &own, "nowhere");
    made_up.revision = Revision(1 << 32);
    plant(&site, &store, key_of(&own), &made_up);
    for mood in [Mood::Ready, Mood::Later] {
        store.is(mood);
        let seen = site.get_with(&site.seal(&own));
        assert_eq!((seen.status(), &*seen.said()), (200, "pinned/ok@B"));
        assert_eq!(seen.affinity().session(), Some(own.session));
    }
}

/// F35 within the layer: rules §3, "fail open".
#[test]
fn without_its_store_a_pin_holds_and_a_key_still_draws() {
    let (site, store) = site();
    let (known, fresh) = (user(&site, "ann"), site.pin("B"));
    let group = known.affinity().group().to_owned();
    store.is(Mood::Failing);
    let seen = site.get_with(&site.seal(&fresh));
    assert_eq!((seen.status(), &*seen.said()), (200, "pinned/ok@B"));
    for _ in 0..2 {
        let seen = user(&site, "ann");
        assert_eq!(seen.said(), format!("assigned/store_unavailable@{group}"));
        assert_eq!(seen.status(), 200);
        assert!(seen.cookie().is_some());
    }
    let bad = site.get(&[("x-user", "ann"), ("cookie", &format!("{COOKIE_NAME}=x"))]);
    assert!(
        bad.said().starts_with("assigned/malformed@"),
        "{}",
        bad.said()
    );
    site.abort("B");
    let seen = site.get_with(&site.seal(&fresh));
    assert_eq!(seen.said(), "moved/aborted@A", "an abort needs no store");
}

#[test]
fn a_session_that_ends_leaves_no_row() {
    for mood in [Mood::Ready, Mood::Later, Mood::Failing] {
        let (site, store) = site();
        user(&site, "ann");
        assert_eq!(store.plain.len(), 1);
        site.app.says(200, &[("affinity-session", "end")]);
        store.is(mood);
        let seen = user(&site, "ann");
        assert_eq!(seen.status(), 200, "{mood:?}");
        let left = usize::from(mood == Mood::Failing);
        assert_eq!(store.plain.len(), left, "{mood:?}");
    }
}

#[test]
fn a_session_that_we_end_leaves_no_row_and_begins_again() {
    let (site, store) = site();
    let group = user(&site, "ann").affinity().group().to_owned();
    let other = if group == "A" { "B" } else { "A" };
    let request = AbortRequest {
        to: Some(name(other)),
        policy: Some(AbortPolicy::End),
        ..AbortRequest::default()
    };
    site.abort_with(&group, &request);
    let ended = user(&site, "ann");
    assert_eq!(ended.status(), 409);
    assert!(
        store.plain.is_empty(),
        "it would be refused until it expires"
    );
    let seen = user(&site, "ann");
    assert_eq!(seen.status(), 200);
    assert!(
        seen.said().starts_with("assigned/keyed@"),
        "{}",
        seen.said()
    );
}

#[test]
fn rows_that_do_not_count_are_absent_and_harm_nobody() {
    let (site, store) = site();
    let group = user(&site, "ann").affinity().group().to_owned();
    for (fault, bytes) in [
        (RowFault::Malformed, b"\x00{".to_vec()),
        (RowFault::Oversize, vec![b' '; 64 << 10]),
        (RowFault::Version, b"{\"v\":9}".to_vec()),
    ] {
        store.plain.plant(key_of_user("ann"), bytes);
        let seen = user(&site, "ann");
        assert_eq!(seen.status(), 200);
        assert_eq!(seen.said(), format!("assigned/keyed@{group}"), "{fault}");
        assert_eq!(store.absent(fault), 1, "{fault}");
    }
    // a row of a group that is gone moves its session as a pin would
    let gone = SessionPin {
        group: GroupRef::Known(GroupId::new(name("Z"), 3)),
        ..site.pin("A")
    };
    let codec = RowCodec::new("checkout".parse().unwrap());
    let key = key_of_user("bob");
    store.plain.plant(key, codec.encode(key, &gone).into());
    let seen = user(&site, "bob");
    assert_eq!(seen.status(), 200);
    assert!(seen.said().starts_with("moved/gone@"), "{}", seen.said());
    let again = user(&site, "bob");
    assert!(again.said().starts_with("pinned/ok@"), "{}", again.said());
}

/// A store that changes its mind with every answer keeps no request for ever.
#[test]
fn a_store_that_lies_is_heard_a_few_times_only() {
    #[derive(Debug, Default)]
    struct Lies(Mutex<u32>);
    impl Lies {
        fn next(&self, pin: &SessionPin) -> StoreCall<SessionPin> {
            let mut count = self.0.lock().unwrap();
            *count += 1;
            let to = if count.is_multiple_of(2) { "A" } else { "B" };
            let group = GroupRef::Known(GroupId::new(name(to), 1));
            StoreCall::ready(SessionPin {
                group,
                moves: pin.moves + *count,
                ..pin.clone()
            })
        }
    }
    impl PinStore for Lies {
        fn load(&self, _: RowKey, _: Terms) -> StoreCall<Option<SessionPin>> {
            StoreCall::ready(None)
        }
        fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
            self.next(&claim.pin)
        }
        fn replace(&self, _: RowKey, pin: SessionPin, _: Terms) -> StoreCall<SessionPin> {
            self.next(&pin)
        }
        fn remove(&self, _: RowKey, _: SessionId) -> StoreCall<()> {
            StoreCall::ready(())
        }
        fn absent(&self, _: RowFault) -> u64 {
            0
        }
        fn live(&self, _: Timestamp) -> LiveCounts {
            LiveCounts::Unknown
        }
        fn upkeep(&self, _: Timestamp) -> StoreCall<()> {
            StoreCall::ready(())
        }
    }
    let site = Site::with(|builder| builder.store(Lies::default()));
    let seen = site.get_with(&site.token("A"));
    assert_eq!(seen.status(), 200);
    assert!(seen.said().starts_with("pinned/ok@"), "{}", seen.said());
}
