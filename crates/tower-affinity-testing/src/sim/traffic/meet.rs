//! Which rare situations a decision is one of.

use tower_affinity_core::{Cause, Kind, Level, OnGone, OnStep};

use super::{Ask, Decided};
use crate::sim::ledger::Entry;
use crate::sim::model::Life;
use crate::sim::names::{id_of, signing_key};
use crate::sim::world::{Source, World};

impl World<'_> {
    pub(crate) fn reach(&mut self, entry: Option<&Entry>, decided: &Decided, ask: &Ask) {
        self.reach_override(entry, decided, ask);
        if let Some(entry) = entry.filter(|_| ask.policy.level == Level::Endpoint) {
            self.reach_endpoint(entry, decided);
        }
        let (replica, policy) = (ask.replica, ask.policy);
        let (decision, model) = (&decided.decision, &decided.state.model);
        let own = decided.state.rollout.revision();
        let behind = self
            .replicas
            .iter()
            .any(|other| other.state.rollout.revision() < own);
        let signs = signing_key(self.replicas[replica].epoch);
        let reached = &mut self.trace.reached;
        let Some(entry) = entry else {
            reached.nothing_ready += u64::from(decision.cause == Cause::NoReady);
            return;
        };
        if !policy.level.has_session() {
            return;
        }
        let above = entry.revision > own.0;
        reached.pin_of_an_older_key += u64::from(entry.key < signs);
        let restored = !model.is_current(entry.id)
            && model
                .group(entry.id.0)
                .is_some_and(|g| g.generation > entry.id.1);
        reached.restore_followed_by_an_old_pin += u64::from(restored);
        let age = (decided.at.as_millis() / 1000).saturating_sub(entry.issued / 1000);
        let quarter = crate::sim::names::TI.as_secs() / 4;
        reached.renewal_at_the_quarter +=
            u64::from(decision.issue && decision.kind == Kind::Pinned && age == quarter);
        match (decision.kind, decision.cause) {
            (Kind::Pinned, Cause::Behind) => reached.pin_above_our_revision += 1,
            (Kind::Pinned, Cause::AbortedStay) => reached.stayed += 1,
            (Kind::Pinned, Cause::Draining) => reached.served_while_draining += 1,
            (Kind::Pinned, _) => {
                let drawn = decision.pin.as_ref().map(|pin| pin.assigned.0);
                reached.drawn_anew_in_place += u64::from(drawn > Some(entry.assigned));
                let steps = policy.on_step == OnStep::Reassign && entry.assigned < model.drawn;
                reached.placed_session_kept_by_a_step += u64::from(steps && entry.placed && !above);
                let held = entry.released && decision.pin.as_ref().is_some_and(|p| !p.released);
                reached.release_taken_back += u64::from(held);
                let down = self.replicas[replica].view().down[usize::from(entry.id.0)];
                let old = down
                    .is_some_and(|since| decided.at.as_millis().saturating_sub(since) >= 10_000);
                reached.lost_are_we += u64::from(old && policy.on_gone == OnGone::Move);
            }
            (Kind::Refused, Cause::Behind) => reached.refused_behind += 1,
            (Kind::Refused, Cause::AbortedEnd) => reached.ended += 1,
            (Kind::Refused, Cause::Gone) => reached.refused_gone += 1,
            (Kind::Moved, Cause::Aborted) => {
                reached.abort_while_a_replica_is_behind += u64::from(behind);
                let again = entry.moves == 0 && self.history.of(entry.session).edges.len() > 1;
                reached.moved_again_after_an_old_pin += u64::from(again);
                let direct = model.aborts.get(&entry.id).is_some_and(|(abort, _)| {
                    Some(abort.target) == decision.group.as_ref().map(id_of)
                });
                reached.moved_along_a_chain += u64::from(!direct);
            }
            (Kind::Moved, Cause::Gone) if above && self.source == Source::Engine => {
                reached.behind_bound_passed += 1;
            }
            (Kind::Moved, Cause::Gone) => reached.moved_from_a_retired_group += 1,
            (Kind::Moved, Cause::Released) => reached.released_and_moved += 1,
            (Kind::Moved, Cause::Step) => reached.drawn_anew_elsewhere += 1,
            (Kind::Moved, Cause::GroupDown) => reached.moved_from_a_lost_group += 1,
            _ => {}
        }
    }

    fn reach_endpoint(&mut self, entry: &Entry, decided: &Decided) {
        let (decision, home) = (&decided.decision, decided.home);
        let had = entry.endpoint.is_some();
        let pin = decision.pin.as_ref();
        let gone = had && pin.is_some_and(|pin| pin.endpoint.is_none());
        let steps = pin.is_some_and(|pin| pin.assigned.0 > entry.assigned);
        let reached = &mut self.trace.reached;
        match (decision.kind, decision.cause) {
            (Kind::Pinned, Cause::EndpointLost) => {
                reached.endpoint_lost += 1;
                reached.endpoint_lost_by_a_step += u64::from(steps);
            }
            (Kind::Pinned, Cause::AbortedStay) => {
                reached.endpoint_lost_in_a_stay += u64::from(gone);
            }
            (Kind::Pinned, Cause::Behind) => {
                let unknown = had && home.own().is_none();
                reached.endpoint_unknown_while_behind += u64::from(unknown);
            }
            (Kind::Pinned, _) => {
                reached.endpoint_kept += u64::from(home.own().is_some());
                reached.endpoint_taken_later += u64::from(!had);
            }
            (Kind::Moved, _) => reached.endpoint_left_by_a_move += u64::from(gone),
            _ => {}
        }
    }

    fn reach_override(&mut self, entry: Option<&Entry>, decided: &Decided, ask: &Ask) {
        let Some(grant) = &ask.grant else { return };
        let (decision, model) = (&decided.decision, &decided.state.model);
        let draining = model
            .group(grant.id.0)
            .is_some_and(|g| g.life == Life::Draining);
        let held = entry.is_some_and(|entry| entry.id == grant.id);
        let reached = &mut self.trace.reached;
        reached.override_refused_as_none += u64::from(!grant.valid);
        match decision.cause {
            Cause::Granted => {
                reached.granted += 1;
                reached.sticky_for_a_draining_group += u64::from(grant.sticky && draining);
            }
            Cause::Sticky => {
                reached.sticky_session_begun += u64::from(!held);
                reached.sticky_session_kept += u64::from(held);
            }
            Cause::OverrideNotRoutable => {
                let aborted = model.aborts.contains_key(&grant.id);
                reached.override_of_an_aborted_group += u64::from(aborted);
            }
            _ => {}
        }
    }
}
