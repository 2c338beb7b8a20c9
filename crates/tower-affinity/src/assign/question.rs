//! One request's question to the rule, which can be asked again: of a newer state, or after the store
//! has told of another pin.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tower_affinity_core::{
    Absence, Cause, Decision, DrawKey, GroupRef, Hinted, Inputs, Joining, Kind, LiveCounts, Newer,
    Outcome, Policy, Presented as Shows, Revision, Rollout, SessionPin, Shown, Status, StoreCall,
    StoreError, Timestamp, decide, hinted,
};
use tracing::Span;

use super::settle::Settle;
use super::state::{State, View};
use super::stored::{Heard, Word, row_key};
use crate::random::fresh_session;
use crate::record::Reload;
use crate::rollouts::{Asked, Waiting};
use crate::wire::{Carries, Presented, Sent};
use crate::{Affinity, Arms, spans};

/// How often a request hears of a greater pin than that which it was decided on: once where another
/// request has moved its session meanwhile. More is a store that changes its mind.
const MOST_ROUNDS: u8 = 3;

/// What one request asks: everything that a decision depends on and that does not change while it
/// waits.
#[derive(Debug)]
pub(super) struct Question {
    shows: Shows,
    policy: Option<Policy>,
    settle: Settle,
    carries: Option<Box<Carries>>,
    /// Whether the pin is the store's: the client has none, or an older one.
    by_store: bool,
    /// The client's own pin, where the store has told of a greater one.
    own: Option<Box<SessionPin>>,
    /// What the store was told of last, while it has not answered.
    decided: Option<Affinity>,
    live: LiveCounts,
    /// What the arms of experiments are drawn by, where that is not the session.
    keys: Vec<Option<DrawKey>>,
    rounds: u8,
    span: Option<Span>,
    sent: Sent,
}

/// What goes with a decision.
#[derive(Debug)]
pub(super) struct With {
    pub(super) settle: Settle,
    /// What can go on to services further down, in scopes that propagate.
    pub(super) carries: Option<Box<Carries>>,
    /// How many sessions live where, if that has a say.
    pub(super) live: LiveCounts,
    pub(super) span: Option<Span>,
    /// Which headers the request has.
    pub(super) sent: Sent,
}

/// The answer to a [`Question`].
pub(super) enum Asking {
    Decided(Affinity),
    // boxed: few requests wait
    Wait(Box<Wait>),
}

/// What a question waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// A state that knows the group, which is being fetched.
    Newer(Waiting),
    /// The row that stands after the store was told of the decision; since when.
    Row(StoreCall<Option<SessionPin>>, Timestamp),
}

/// What has come of a [`Wait`].
#[derive(Debug)]
pub(super) enum Came {
    Newer(Newer),
    /// Asked for at this time.
    Row(Result<Option<SessionPin>, StoreError>, Timestamp),
}

impl Wait {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Came> {
        Poll::Ready(match self {
            Self::Newer(waiting) => Came::Newer(ready!(Pin::new(waiting).poll(cx))),
            Self::Row(call, since) => Came::Row(ready!(Pin::new(call).poll(cx)), *since),
        })
    }
}

impl Question {
    #[inline]
    pub(super) fn new(
        state: &State,
        view: Arc<View>,
        presented: Option<Presented>,
        keys: Vec<Option<DrawKey>>,
    ) -> Self {
        let (shows, policy, settle, carries, sent) = match presented {
            Some(Presented {
                shows,
                scope,
                at,
                navigation,
                visit: _,
                hop: _,
                carries,
                sent,
            }) => {
                let policy = scope.as_ref().map(|scope| *scope.policy());
                let settle = Settle::new(scope, at, navigation, view);
                (shows, policy, settle, carries, sent)
            }
            None => {
                let settle = Settle::new(None, state.clock.now(), false, view);
                let policy = Some(Policy::default());
                (Shows::default(), policy, settle, None, Sent::ANY)
            }
        };
        Self {
            shows,
            policy,
            settle,
            carries,
            by_store: false,
            own: None,
            decided: None,
            live: LiveCounts::Unknown,
            keys,
            rounds: 0,
            span: spans::decide(),
            sent,
        }
    }

    /// What goes with the decision that was answered.
    #[inline]
    pub(super) fn with(self) -> With {
        With {
            settle: self.settle,
            carries: self.carries,
            live: self.live,
            span: self.span,
            sent: self.sent,
        }
    }

    /// Asks the rule for the first time.
    pub(super) fn ask(&mut self, state: &State) -> Asking {
        self.ask_with(state, Newer::Unasked)
    }

    /// Goes on with what has come.
    pub(super) fn go_on(&mut self, state: &State, came: Came) -> Asking {
        match came {
            Came::Newer(newer) => self.ask_again(state, newer),
            Came::Row(row, since) => {
                self.settle.waits(state.clock.now().since(since));
                self.hear(state, row)
            }
        }
    }

    /// Asks anew, of the newest state.
    fn ask_again(&mut self, state: &State, newer: Newer) -> Asking {
        self.settle.decided_on(state.view());
        self.ask_with(state, newer)
    }

    #[inline]
    fn ask_with(&mut self, state: &State, newer: Newer) -> Asking {
        let decided = match self.decide(state, newer) {
            Ok(decided) => decided,
            Err(waiting) => return Asking::Wait(Box::new(Wait::Newer(waiting))),
        };
        if let Some(own) = self.without_row(decided.decision()) {
            self.shows.shown = Shown::Pin(own);
            self.by_store = false;
            // it has been heard, and would say the same
            self.rounds = MOST_ROUNDS;
            return self.ask_again(state, Newer::Unasked);
        }
        let word = self.word(state, decided.decision());
        self.tell(state, decided, word)
    }

    /// Asks the rule, with what is known about a newer state. From here on the decision, which is
    /// large, stays where it is.
    #[inline]
    fn decide(&mut self, state: &State, mut newer: Newer) -> Result<Affinity, Waiting> {
        let view = self.settle.view();
        if let Shown::Pin(pin) = &mut self.shows.shown {
            view.codes.resolve(pin);
            view.endpoints.resolve(&state.codec, &*state.ready, pin);
            state.note(pin);
        }
        if let Some(chosen) = &mut self.shows.chosen {
            view.codes.resolve_override(chosen);
        }
        self.live = match (&state.store, &self.policy) {
            (Some(store), Some(policy)) if policy.least_loaded => store.live(self.settle.at()),
            _ => LiveCounts::Unknown,
        };
        let mut decision = loop {
            let outcome = decide(&Inputs {
                presented: &self.shows,
                policy: self.policy.as_ref(),
                rollout: &view.rollout,
                ready: &*state.ready,
                live: &self.live,
                salt: &state.salt,
                serving: state.serving(),
                now: self.settle.at(),
                fresh: &fresh_session,
                newer,
            });
            match outcome {
                Outcome::Decided(decision) => break decision,
                Outcome::Behind(revision) => match state.rollouts.ask(revision, self.settle.at()) {
                    Asked::Known(known) => newer = known,
                    Asked::Wait(waiting) => return Err(waiting),
                },
            }
        };
        // the client has to hear of a pin that only the store has told of
        decision.issue |= self.by_store && decision.carries_pin();
        self.join(state, &mut decision);
        Ok(Affinity::new(decision))
    }

    /// Gives the session its arms; a request in no scope has none.
    fn join(&mut self, state: &State, decision: &mut Decision) {
        let Some(experiments) = &state.experiments else {
            return;
        };
        let arms = match &self.policy {
            Some(policy) => {
                let joining = Joining {
                    keys: &self.keys,
                    revision: self.settle.revision(),
                    now: self.settle.at(),
                    lifetimes: policy.lifetimes,
                };
                Arms::new(experiments.as_set().join(decision, &joining))
            }
            None => Arms::none(),
        };
        self.settle.has(arms);
    }

    /// The client's own pin, if only the row stands against serving it: nobody signed that, and nobody
    /// here can tell whether the state that it speaks of exists.
    fn without_row(&mut self, decision: &Decision) -> Option<Box<SessionPin>> {
        let is_behind = (decision.kind, decision.cause) == (Kind::Refused, Cause::Behind);
        self.own.take_if(|_| is_behind)
    }

    /// What the store has to hear of a decision.
    fn word(&self, state: &State, decision: &Decision) -> Option<Word> {
        state.store.as_ref()?;
        let policy = self.policy.as_ref()?;
        let word = Word::of(&self.shows, policy, decision, self.settle.at())?;
        // the row that is decided on needs no claim, and its pin is issued for the client alone
        let is_shown = matches!(
            (&self.shows.shown, &decision.pin),
            (Shown::Pin(shown), Some(pin)) if **shown == *pin
        );
        let repeats = self.by_store && is_shown && !matches!(word, Word::Remove(..));
        (self.rounds < MOST_ROUNDS && !repeats).then_some(word)
    }

    fn tell(&mut self, state: &State, decided: Affinity, word: Option<Word>) -> Asking {
        let call = word.and_then(|word| state.tell(word, self.settle.waited()));
        let Some(call) = call else {
            self.told(state, decided.decision());
            return Asking::Decided(decided);
        };
        if let Some(pin) = &decided.decision().pin {
            self.settle.stored_under(row_key(&self.shows, pin));
        }
        self.decided = Some(decided);
        match call {
            StoreCall::Ready(Some(row)) => self.hear(state, row),
            call => Asking::Wait(Box::new(Wait::Row(call, state.clock.now()))),
        }
    }

    /// The store has answered.
    fn hear(&mut self, state: &State, row: Result<Option<SessionPin>, StoreError>) -> Asking {
        self.rounds += 1;
        let Some(decided) = self.decided.take() else {
            return self.ask_again(state, Newer::Unasked);
        };
        let decision = decided.decision();
        match Heard::of(row, &self.shows, decision) {
            Heard::Stands => self.tell(state, decided, None),
            Heard::Repair => {
                let word = decision.pin.as_ref().zip(self.policy).map(|(pin, policy)| {
                    let key = row_key(&self.shows, pin);
                    Word::replace(key, pin, self.settle.at(), policy.lifetimes)
                });
                let word = word.filter(|_| self.rounds < MOST_ROUNDS);
                self.tell(state, decided, word)
            }
            Heard::Shown(pin) => {
                let before = mem::replace(&mut self.shows.shown, Shown::Pin(pin));
                if let (Shown::Pin(own), false) = (before, self.by_store) {
                    self.own = Some(own);
                }
                self.by_store = true;
                self.ask_again(state, Newer::Unasked)
            }
            Heard::Unavailable => {
                self.shows.shown = Shown::Nothing(Absence::StoreUnavailable);
                self.ask_again(state, Newer::Unasked)
            }
        }
    }

    /// A request for what belongs to a page: whether the commit of that still serves.
    fn follows(&mut self, state: &State) {
        let (rollout, at) = self.settle.decided();
        let hint = self.shows.hint.as_ref();
        let hint = hint.map(|name| hinted(rollout, &*state.ready, name, at));
        let gone = match (hint, &self.shows.shown) {
            (Some(hint), _) => hint == Hinted::Gone,
            (None, Shown::Pin(pin)) => is_gone(rollout, pin, at),
            (None, Shown::Nothing(_)) => false,
        };
        if let Some(hint) = hint {
            state.recorder.hint(hint.into());
        }
        if gone {
            self.settle.reloads(Reload::GroupGone);
        }
    }

    /// Tells everybody who keeps count of sessions.
    fn told(&mut self, state: &State, decision: &Decision) {
        if decision.cause == Cause::Follow {
            self.follows(state);
        }
        let revision: Revision = self.settle.revision();
        let (rollout, at) = self.settle.decided();
        state.recorder.step(rollout, at);
        if let (Shown::Pin(pin), Some(policy)) = (&self.shows.shown, &self.policy) {
            let (at, idle) = (self.settle.at(), policy.lifetimes.idle());
            state.recorder.session_seen(pin, decision, at, idle);
        }
        // noted now and not with the answer: from here on the group has a session
        if let Some(pin) = decision.pin.as_ref().filter(|_| decision.issue) {
            state.note(pin);
        }
        if let Shown::Pin(pin) = &self.shows.shown
            && pin.revision > revision
        {
            state.rollouts.seen(pin.revision, self.settle.at());
        }
    }
}

/// Whether the group of a pin serves its sessions no more. A code that a newer state may know says
/// nothing yet.
fn is_gone(rollout: &Rollout, pin: &SessionPin, at: Timestamp) -> bool {
    match &pin.group {
        GroupRef::Unknown(_) => pin.revision <= rollout.revision(),
        GroupRef::Known(id) => match rollout.status(id) {
            Status::Serving(_) => false,
            Status::Aborted(abort) => !abort.stays(at),
            Status::Gone => true,
        },
    }
}
