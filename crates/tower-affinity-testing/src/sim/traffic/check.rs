//! Whether a decision is right: by itself, and in the life of its session.

use std::rc::Rc;

use tower_affinity_core::{Cause, Kind};

use super::{Ask, Decided};
use crate::sim::Violation;
use crate::sim::ledger::Entry;
use crate::sim::names::id_of;
use crate::sim::oracle::{self, Home, Sight};
use crate::sim::world::{Check, Source, World};

impl World<'_> {
    pub(crate) fn check_decision(
        &self,
        ask: &Ask,
        entry: Option<&Entry>,
        decided: &Decided,
        sight: &Sight,
    ) -> Check<Home> {
        let (decision, model) = (&decided.decision, &decided.state.model);
        let group = decision.group.as_ref().map(id_of);
        let tell = |what: &str| format!("{what}: {decision:?}, pin {entry:?}");
        if decision.kind != Kind::Refused && group.is_some_and(|id| model.is_out(id, sight.now)) {
            return Violation::of("I2 abort", tell("an aborted group serves"));
        }
        let placed = entry.and_then(|entry| self.placed.get(&(entry.session, entry.id)));
        if let Some(entry) = entry
            && let Some(drained) = self.drained.get(&entry.id)
            && placed.is_some_and(|placed| drained.rules_out(placed))
        {
            return Violation::of("I9 never early", tell("a valid pin to a drained group"));
        }
        let takes = |id: (u8, u32)| model.group(id.0).is_some_and(|group| group.weight > 0);
        if decision.kind == Kind::Assigned && !group.is_some_and(takes) {
            return Violation::of("I9 no new session", tell("a group without weight gets one"));
        }
        let grant = ask.grant.as_ref().filter(|grant| grant.valid);
        let by_override = matches!(
            decision.cause,
            Cause::Granted | Cause::Sticky | Cause::OverrideNotRoutable
        );
        if by_override && grant.is_none() {
            return Violation::of("I6 signed by us", tell("an override that is none"));
        }
        let policy = &ask.policy;
        let must = model.must(policy, entry, grant, sight);
        if !must.allows(decision) {
            let invariant = match must.kind {
                Kind::Pinned => "I1 obedience",
                Kind::Moved => "I3 moves",
                Kind::Assigned => "I7 fail open",
                Kind::Bypassed | Kind::Overridden | Kind::Refused => "the decision table",
            };
            return Violation::of(
                invariant,
                tell(&format!("it must be {must:?} for {policy:?}")),
            );
        }
        if let Some(objection) = oracle::objection(entry, decision, model, &must, sight.now) {
            return Violation::of("the pin", tell(objection));
        }
        let home = Home::of(policy.level, entry, &must, decision, sight);
        match home.objection(decision) {
            Some(objection) => Violation::of("the endpoint", tell(objection)),
            None => Ok(home),
        }
    }

    /// I3 and I4, over the whole life of a session.
    pub(crate) fn check_history(
        &mut self,
        client: usize,
        replica: usize,
        entry: Option<&Entry>,
        decided: &Decided,
    ) -> Check {
        let decision = &decided.decision;
        let (Some(pin), Some(group)) = (&decision.pin, decision.group.as_ref().map(id_of)) else {
            return Ok(());
        };
        if decision.kind == Kind::Refused {
            return Ok(());
        }
        let newest = self.clients[client].newest;
        let shared = self.source == Source::Engine;
        // one move per abort is promised for clocks that are at most five minutes apart
        let together = self.clocks_agree();
        let above = entry.is_some_and(|entry| entry.revision > decided.state.rollout.revision().0);
        let shares = Rc::clone(&self.replicas[replica].shared);
        let session = self.history.of(pin.session.bits());
        let renews = decision.cause == Cause::AbortedStay && decision.issue;
        let moved = session.edges.iter().any(|(from, _)| *from == group);
        self.trace.reached.stayed_behind_a_move += u64::from(renews && moved);
        if decision.cause == Cause::Gone && above {
            session.given_up = true;
        }
        let promised = &self.promised;
        let is_shared = |id| shares.model.aborts.contains_key(&id) && promised.contains_key(&id);
        // aborts that only some replicas know may cross, and then each moves what the other moved
        if decision.cause == Cause::Aborted && entry.is_some_and(|entry| !is_shared(entry.id)) {
            session.given_up = true;
        }
        if newest && shared && together && !session.given_up && session.left.contains(&group) {
            return Violation::of(
                "I3 one move per abort",
                format!("{group:?} serves a session that has left it: {entry:?}"),
            );
        }
        if let (Cause::Aborted, Some(entry)) = (decision.cause, entry.filter(|e| is_shared(e.id))) {
            let edge = (entry.id, group);
            if shared && session.edges.contains(&(edge.1, edge.0)) {
                return Violation::of(
                    "I3 nothing leads back",
                    format!("{edge:?} after its reverse"),
                );
            }
            if !session.edges.contains(&edge) {
                session.edges.push(edge);
            }
        }
        // a lost answer lets an older pin be renewed, which a running stay does not lift
        let lifted = decision.cause != Cause::AbortedStay;
        if decision.issue && lifted && (newest || !shared) {
            let before = std::mem::replace(&mut session.issued[replica], pin.revision.0);
            if pin.revision.0 < before {
                return Violation::of("I4 revisions", format!("{} after {before}", pin.revision));
            }
        }
        Ok(())
    }
}
