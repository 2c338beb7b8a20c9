//! Aborts that are in force on this replica while the shared state is out of reach.

use std::error::Error;

use tokio::task::spawn_blocking;
use tower_affinity::core::{Fact, GroupName, Rollout, Standing, Status, standings};

use super::{Member, SharedTrouble};
use crate::causes::with_causes;
use crate::control::live::Live;
use crate::control::store::Kept;
use crate::control::told::policy;
use crate::control::{Changed, Control, ControlError, Held, Request, StoreError};
use crate::events::{Events, Kind};

impl Member {
    /// Takes an abort as a fact: obeyed here from now on, and synced to the local file before it
    /// is answered.
    pub(super) async fn abort_here(
        &self,
        request: &Request,
        trouble: SharedTrouble,
    ) -> Result<Changed, ControlError> {
        let before = self.control.rollouts().current();
        self.take_fact(request, trouble)?;
        let after = self.control.rollouts().current();
        let control = self.control.clone();
        let held = match spawn_blocking(move || control.save()).await {
            // also what all knew to be aborted: they may have restored it since
            Ok(Ok(())) => Held::Replica,
            Ok(Err(error)) => unkept(&error),
            Err(error) => unkept(&error),
        };
        Ok(Changed {
            before,
            after,
            held,
        })
    }

    fn take_fact(&self, request: &Request, trouble: SharedTrouble) -> Result<(), ControlError> {
        let mut live = self.control.live();
        let obeyed = self.control.rollouts().current();
        let mut kept = live.asked(request, &obeyed)?;
        let now = self.control.now();
        let next = self
            .control
            .next(&live, &mut kept, &obeyed, now, |rollout, terms| {
                Ok(request.verb.apply(rollout, terms)?)
            })?;
        let mut groups = obeyed.groups().iter().zip(next.groups());
        let Some((was, is)) = groups.find(|(was, is)| {
            was.id() == is.id() && was.state() != is.state() && is.state().name() == "aborted"
        }) else {
            // aborted already, and nothing else is asked for
            return Ok(());
        };
        match Fact::of(&obeyed, &next, was.id()) {
            Some(fact) => live.kept.facts.push(fact),
            None => {
                let Status::Aborted(abort) = next.status(is.id()) else {
                    return Ok(());
                };
                let mut facts = live.kept.facts.iter_mut();
                match facts.find(|fact| fact.id == *is.id()) {
                    Some(fact) => *fact = fact.clone().with_policy(abort.policy),
                    // another policy of an abort that all know is a change like any other
                    None => return Err(trouble.into()),
                }
            }
        }
        let shared = live.kept.rollout.clone();
        self.control.accept(&mut live, shared);
        Ok(())
    }
}

/// The policy of an abort is that of the first in the shared state; a stricter one is not lost
/// without a word.
fn warn_of_policy(shared: &Rollout, fact: &Fact, events: &Events) {
    if let Status::Aborted(abort) = shared.status(&fact.id)
        && abort.policy != fact.abort.policy
    {
        let text = format!(
            "all obey another policy of the abort ({}) than this replica did ({}): repeat it to \
             change that",
            policy(abort.policy),
            policy(fact.abort.policy)
        );
        events.warn(Kind::Fact, Some(fact.id.name()), &text);
    }
}

/// A full disk must not keep a bad commit in service.
fn unkept(error: &dyn Error) -> Held {
    let error = with_causes(error);
    tracing::error!(
        error,
        "the abort is in force but not kept: a restart forgets it"
    );
    Held::Nowhere
}

impl Kept {
    /// Takes up aborts that a state has lost; `false` if there is none that is new.
    pub(super) fn add_facts(&mut self, mut facts: Vec<Fact>, events: &Events) -> bool {
        facts.retain(|fact| self.facts.iter().all(|known| known.id != fact.id));
        for fact in &facts {
            let text = "the state has lost an abort, which goes into it again";
            events.warn(Kind::Fact, Some(fact.id.name()), text);
        }
        let any = !facts.is_empty();
        self.facts.extend(facts);
        any
    }
}

impl Control {
    /// The aborts that only this replica obeys, the earliest first, and how each stands to the
    /// shared state as it was last read.
    #[must_use]
    pub fn facts(&self) -> Vec<(Fact, Standing)> {
        let live = self.live();
        let facts = live.kept.facts.clone();
        let standings = standings(&live.kept.rollout, &facts);
        facts.into_iter().zip(standings).collect()
    }

    /// Forgets an abort that only this replica obeys; `false` if there is none of that group.
    ///
    /// Blocks while the state file is written.
    ///
    /// # Errors
    ///
    /// If it cannot be kept that it is forgotten.
    pub fn drop_fact(&self, who: &str, group: &GroupName) -> Result<bool, StoreError> {
        {
            let mut live = self.live();
            let before = live.kept.facts.len();
            live.kept.facts.retain(|fact| fact.id.name() != group);
            if live.kept.facts.len() == before {
                return Ok(false);
            }
            let shared = live.kept.rollout.clone();
            self.accept(&mut live, shared);
        }
        tracing::info!(target: "affinity::audit", %who, verb = "facts drop", %group, "fact dropped");
        let text = format!("{who} dropped the abort that only this replica obeyed");
        self.events().keep(Kind::Fact, Some(group), &text);
        self.save()?;
        Ok(true)
    }

    /// Forgets the facts that have done their work, and marks those that the shared state
    /// contradicts. The state has to be the shared one as it is now.
    pub(in crate::control) fn settle_facts(&self, live: &mut Live) {
        let shared = live.kept.rollout.clone();
        let (before, events) = (live.kept.facts.clone(), self.events());
        let mut standings = standings(&shared, &before).into_iter();
        live.kept.facts.retain_mut(|fact| match standings.next() {
            Some(Standing::Done) => {
                warn_of_policy(&shared, fact, events);
                events.info(Kind::Fact, Some(fact.id.name()), "all know of the abort");
                false
            }
            Some(Standing::Conflicts) if !fact.disputed => {
                let text = "the group was changed since it was aborted here: confirm it (rollout \
                            abort) or drop it (rollout facts drop)";
                events.warn(Kind::Fact, Some(fact.id.name()), text);
                fact.disputed = true;
                true
            }
            Some(Standing::Conflicts | Standing::Merges) | None => true,
        });
        if live.kept.facts != before {
            self.accept(live, shared);
        }
    }
}
