//! Requests, decisions, answers, and cookies that arrive.

use std::rc::Rc;

use tower_affinity_core::{
    Absence, Answer, Cause, Decision, Fault, GroupId, Inputs, Kind, Level, MAX_CANDIDATES, Newer,
    OnGone, Outcome, Policy, Presented, Said, SessionId, SessionPin, Settled, Shown, Timestamp,
    present,
};

use super::Violation;
use super::flight::Flight;
use super::ledger::Entry;
use super::names::{Millis, id_of, lifetimes, signing_key};
use super::oracle::{self, Sight};
use super::world::{Check, Event, Source, State, World};

/// Something that a client sends as a pin.
#[derive(Clone, Debug)]
pub(super) enum Sent {
    Issued(usize),
    Forged(String),
}

/// What became of a request.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) decision: Decision,
    pub(super) state: Rc<State>,
    pub(super) at: Timestamp,
}

impl World<'_> {
    pub(super) fn text<'a>(&'a self, sent: &'a Sent) -> &'a str {
        match sent {
            Sent::Issued(entry) => &self.ledger[*entry].token,
            Sent::Forged(text) => text,
        }
    }

    /// A client sends a request to a replica, which decides it at once.
    pub(super) fn request(
        &mut self,
        client: usize,
        replica: usize,
        policy: Policy,
        sent: &[Sent],
    ) -> Check<Decided> {
        let at = self.taken(replica);
        let right_now = self.clock(replica).as_millis();
        let valid = self.valid(sent, right_now);
        let shown = self.read(replica, sent, at);
        let entry = self.check_chosen((replica, at), sent, &valid, &shown, policy.level)?;
        let decided = self.decide(replica, policy, shown, entry.as_ref(), at, right_now)?;
        let decision = &decided.decision;
        let group = decision.group.as_ref().map(id_of);
        self.trace.mix_numbers(&[
            client as u64,
            replica as u64,
            self.now,
            decision.kind as u64,
            decision.cause as u64,
        ]);
        self.trace.mix_numbers(&[
            group.map_or(99, |id| u64::from(id.0)),
            u64::from(decision.issue),
        ]);
        self.trace.tell(|| {
            format!(
                "client {client} sends {:?} to replica {replica} (revision {}): {}/{} {group:?}",
                entry.as_ref().map(|entry| (
                    entry.session >> 112,
                    entry.id,
                    entry.revision,
                    entry.moves
                )),
                decided.state.rollout.revision(),
                decision.kind.as_str(),
                decision.cause.as_str(),
            )
        });
        if policy.level == Level::Group {
            self.check_history(client, replica, entry.as_ref(), &decided)?;
        }
        self.reach(entry.as_ref(), &decided, replica, policy);
        Ok(decided)
    }

    /// The entries among the candidates that are valid pins by a clock that shows `now`.
    fn valid(&self, sent: &[Sent], now: Millis) -> Vec<usize> {
        if sent.len() > MAX_CANDIDATES {
            return Vec::new();
        }
        let issued = sent.iter().filter_map(|sent| match sent {
            Sent::Issued(entry) => Some(*entry),
            Sent::Forged(_) => None,
        });
        issued
            .filter(|entry| self.ledger[*entry].is_valid(now))
            .collect()
    }

    /// What the wire side makes of the candidates.
    fn read(&self, replica: usize, sent: &[Sent], at: Timestamp) -> Shown {
        let codec = self.codec(replica);
        let tokens: Vec<&[u8]> = sent.iter().map(|sent| self.text(sent).as_bytes()).collect();
        let open = |token: &[u8]| self.parts.open(&codec, token, at, lifetimes());
        let chosen = self.parts.choose(&tokens, &open);
        present(None, || chosen, || Absence::New).0
    }

    /// The issued pin that was chosen, which has to be the greatest of the valid ones.
    fn check_chosen(
        &mut self,
        (replica, at): (usize, Timestamp),
        sent: &[Sent],
        valid: &[usize],
        shown: &Shown,
        level: Level,
    ) -> Check<Option<Entry>> {
        let codec = self.codec(replica);
        let reached = &mut self.trace.reached;
        reached.too_many_candidates += u64::from(sent.len() > MAX_CANDIDATES);
        let different = valid
            .iter()
            .any(|entry| self.ledger[*entry].rank() != self.ledger[valid[0]].rank());
        reached.two_valid_duplicates += u64::from(different);
        let greatest = valid.iter().map(|entry| self.ledger[*entry].rank()).max();
        match (shown, greatest) {
            (Shown::Nothing(absence), None) => {
                let forged = sent.iter().any(|sent| matches!(sent, Sent::Forged(_)));
                reached.forgery_refused += u64::from(forged);
                reached.from_the_future += u64::from(*absence == Absence::Fault(Fault::FromFuture));
                Ok(None)
            }
            (Shown::Nothing(absence), Some(_)) if matches!(level, Level::Group | Level::Follow) => {
                Violation::of(
                    "I1 obedience",
                    format!("a valid pin was taken for {absence:?}"),
                )
            }
            (Shown::Nothing(_), Some(_)) => Ok(None),
            (Shown::Pin(pin), greatest) => {
                let alike = valid
                    .iter()
                    .map(|entry| &self.ledger[*entry])
                    .filter(|entry| is_of(pin, entry));
                let mut alike: Vec<&Entry> = alike.collect();
                if alike.len() > 1 {
                    // two replicas may move a session to different groups in one second
                    let opens = |entry: &Entry| codec.open(entry.token.as_bytes(), at, lifetimes());
                    alike.retain(|entry| opens(entry).is_ok_and(|opened| opened.pin == **pin));
                }
                let same = alike.first().copied();
                match same {
                    Some(entry) if Some(entry.rank()) == greatest => Ok(Some(entry.clone())),
                    Some(entry) => Violation::of(
                        "I3 the newest pin",
                        format!("{:?} was chosen, not {greatest:?}", entry.rank()),
                    ),
                    None => Violation::of(
                        "I6 signed by us",
                        format!("{pin:?} was accepted, which nobody issued or is not valid"),
                    ),
                }
            }
        }
    }

    fn decide(
        &mut self,
        replica: usize,
        policy: Policy,
        mut shown: Shown,
        entry: Option<&Entry>,
        at: Timestamp,
        right_now: Millis,
    ) -> Check<Decided> {
        let codec = self.codec(replica);
        let mut state = Rc::clone(&self.replicas[replica].state);
        let fresh = SessionId::from_random(self.dice.bits());
        let view = self.replicas[replica].view();
        let mut newer = Newer::Unasked;
        let mut asked = 0;
        let decision = loop {
            if let Shown::Pin(pin) = &mut shown {
                state
                    .codes(self.replicas[replica].epoch, &codec)
                    .resolve(pin);
            }
            let presented = Presented {
                shown: shown.clone(),
                key: None,
                chosen: None,
            };
            let outcome = self.parts.decide(&Inputs {
                presented: &presented,
                policy: Some(&policy),
                rollout: &state.rollout,
                ready: &view,
                salt: &self.salt,
                serving: None,
                now: at,
                fresh,
                newer,
            });
            match outcome {
                Outcome::Decided(decision) => break decision,
                Outcome::Behind(_) if asked == 2 => {
                    return Violation::of(
                        "one answer",
                        "a replica that has asked asks again".to_owned(),
                    );
                }
                Outcome::Behind(revision) => {
                    asked += 1;
                    newer = self.ask(replica, revision.0, right_now)?;
                    if newer == Newer::Unasked {
                        state = Rc::clone(&self.replicas[replica].state);
                    }
                }
            }
        };
        let own = state.rollout.revision().0;
        if let Some(entry) = entry.filter(|entry| entry.revision > own) {
            match self.source {
                Source::Files => self.raise(replica, entry.revision),
                Source::Engine => {
                    self.fall_behind(replica, entry.revision, right_now);
                    if self.dice.chance(500) {
                        let delay = self.dice.within(0, 50);
                        self.after(delay, Event::Reread(replica));
                    }
                }
            }
        }
        let behind_since = match newer {
            Newer::Unproven { behind_since } => behind_since.as_millis(),
            _ => right_now,
        };
        let sight = Sight {
            now: right_now,
            down: view.0,
            proved: newer == Newer::Proved,
            behind_since,
        };
        let decided = Decided {
            decision,
            state,
            at,
        };
        self.check_decision(&policy, entry, &decided, &sight)?;
        Ok(decided)
    }

    /// A pin has shown that there is a newer state: the replica asks for it.
    fn ask(&mut self, replica: usize, revision: u64, now: Millis) -> Check<Newer> {
        if self.source == Source::Files {
            self.raise(replica, revision);
            return Ok(Newer::Proved);
        }
        let since = self.fall_behind(replica, revision, now);
        if !self.is_cut(replica) && self.dice.chance(500) {
            let head = Rc::clone(&self.head);
            self.accept(replica, head)?;
            self.trace.reached.fetched_because_of_a_pin += 1;
            return Ok(Newer::Unasked);
        }
        Ok(Newer::Unproven {
            behind_since: Timestamp::from_millis(since),
        })
    }

    fn fall_behind(&mut self, replica: usize, revision: u64, now: Millis) -> Millis {
        let (most, _) = self.replicas[replica].behind.get_or_insert((revision, now));
        *most = revision.max(*most);
        self.replicas[replica]
            .behind
            .map_or(now, |(_, since)| since)
    }

    fn check_decision(
        &self,
        policy: &Policy,
        entry: Option<&Entry>,
        decided: &Decided,
        sight: &Sight,
    ) -> Check {
        let (decision, model) = (&decided.decision, &decided.state.model);
        let group = decision.group.as_ref().map(id_of);
        let tell = |what: &str| format!("{what}: {decision:?}, pin {entry:?}");
        if decision.kind != Kind::Refused && group.is_some_and(|id| model.is_out(id, sight.now)) {
            return Violation::of("I2 abort", tell("an aborted group serves"));
        }
        if let Some(entry) = entry
            && self.drained.contains(&entry.id)
        {
            return Violation::of("I9 never early", tell("a valid pin to a drained group"));
        }
        let takes = |id: (u8, u32)| model.group(id.0).is_some_and(|group| group.weight > 0);
        if decision.kind == Kind::Assigned && !group.is_some_and(takes) {
            return Violation::of("I9 no new session", tell("a group without weight gets one"));
        }
        let must = model.must(policy, entry, sight);
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
        match oracle::objection(entry, decision, model.revision, sight.now) {
            Some(objection) => Violation::of("the pin", tell(objection)),
            None => Ok(()),
        }
    }

    /// I3 and I4, over the whole life of a session.
    fn check_history(
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
        let session = self.history.of(pin.session.bits());
        let renews = decision.cause == Cause::AbortedStay && decision.issue;
        let moved = session.edges.iter().any(|(from, _)| *from == group);
        self.trace.reached.stayed_behind_a_move += u64::from(renews && moved);
        if decision.cause == Cause::Gone && above {
            session.given_up = true;
        }
        if newest && shared && together && !session.given_up && session.left.contains(&group) {
            return Violation::of(
                "I3 one move per abort",
                format!("{group:?} serves a session that has left it: {entry:?}"),
            );
        }
        if let (Cause::Aborted, Some(entry)) = (decision.cause, entry) {
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

    fn reach(&mut self, entry: Option<&Entry>, decided: &Decided, replica: usize, policy: Policy) {
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
        if policy.level != Level::Group {
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
        let quarter = super::names::TI.as_secs() / 4;
        reached.renewal_at_the_quarter +=
            u64::from(decision.issue && decision.kind == Kind::Pinned && age == quarter);
        match (decision.kind, decision.cause) {
            (Kind::Pinned, Cause::Behind) => reached.pin_above_our_revision += 1,
            (Kind::Pinned, Cause::AbortedStay) => reached.stayed += 1,
            (Kind::Pinned, Cause::Draining) => reached.served_while_draining += 1,
            (Kind::Pinned, _) => {
                let down = self.replicas[replica].view().0[usize::from(entry.id.0)];
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
            (Kind::Moved, Cause::GroupDown) => reached.moved_from_a_lost_group += 1,
            _ => {}
        }
    }

    /// An answer comes back from the endpoint to the replica.
    pub(super) fn answer(&mut self, flight: &Flight) -> Check {
        let client = &mut self.clients[flight.client];
        client.in_flight = client.in_flight.saturating_sub(1);
        if self.replicas[flight.replica].lives != flight.life {
            return Ok(());
        }
        let Some(kept) = self.settle(flight)? else {
            return Ok(());
        };
        let lost = self.faults && self.dice.chance(50);
        if !lost {
            let delay = if self.faults {
                self.dice.within(0, 300)
            } else {
                0
            };
            self.after(delay, Event::Arrive(flight.client, Some(kept)));
        }
        Ok(())
    }

    /// The entry of the pin that the answer carries, if it carries one.
    pub(super) fn settle(&mut self, flight: &Flight) -> Check<Option<usize>> {
        let replica = flight.replica;
        let newest = Rc::clone(&self.replicas[replica].state);
        let now = self.clock(replica);
        let decision = &flight.decision;
        let answer = Answer {
            decision,
            rollout: &flight.state.rollout,
            ready: &self.replicas[replica].view(),
            at: flight.at,
            lifetimes: lifetimes(),
            said: Said::default(),
            streams: flight.streams,
        };
        let is_aborted = |id: &GroupId| newest.rollout.is_aborted(id, now);
        let settled = self.parts.settle(&answer, &is_aborted);
        let reached = &mut self.trace.reached;
        reached.request_in_flight_across_a_swap +=
            u64::from(newest.rollout.revision() > flight.state.rollout.revision());
        let over = decision.pin.as_ref().is_some_and(|pin| now >= pin.expires);
        reached.expiry_between_decision_and_answer += u64::from(over);
        let out = newest.model.is_out(flight.group, now.as_millis());
        let first = decision.kind == Kind::Assigned;
        let wished = oracle::writes(decision, flight.streams);
        let pin = match settled {
            Settled::Written(_) if out && !first => {
                return Violation::of(
                    "I2 abort",
                    format!("an answer writes a pin to an aborted group: {settled:?}"),
                );
            }
            Settled::Written(pin) if wished => pin,
            Settled::Kept if !wished => return Ok(None),
            Settled::Kept if out && !first => {
                reached.withdrawn_at_the_answer += 1;
                return Ok(None);
            }
            _ => return Violation::of("the pin", format!("{decision:?}: {settled:?}")),
        };
        reached.first_pin_into_an_abort += u64::from(out);
        if flight.streams {
            reached.stream_extended_its_pin += 1;
            if !oracle::streams_on(&pin) {
                return Violation::of("the pin", format!("a stream leaves {pin:?}"));
            }
        }
        let token = self.codec(replica).seal(&pin).token;
        if token.is_empty() || token.len() > 512 {
            return Violation::of("the pin", format!("a token of {} bytes", token.len()));
        }
        self.trace.mix(token.as_bytes());
        let key = signing_key(self.replicas[replica].epoch);
        let Some(entry) = Entry::new(&pin, token, key) else {
            return Violation::of("the pin", format!("{pin:?} names no known group"));
        };
        self.ledger.push(entry);
        Ok(Some(self.ledger.len() - 1))
    }

    /// A cookie, or its clearing, comes to the client.
    pub(super) fn arrive(&mut self, client: usize, pin: Option<usize>) {
        let now = self.now;
        let Some(entry) = pin else {
            self.clients[client].take(None, &self.ledger, now);
            return;
        };
        let new = &self.ledger[entry];
        // `Max-Age` counts from the answer's decision, by the client's own clock
        let until = now + new.expires.saturating_sub(new.issued);
        if let Some(held) = self.clients[client].holds(now) {
            let held = &self.ledger[held];
            let overtaken = held.session == new.session && held.moves > new.moves;
            self.trace.reached.refresh_overtaking_a_moved_pin += u64::from(overtaken);
        }
        self.trace.mix_numbers(&[client as u64, entry as u64]);
        self.clients[client].take(Some((entry, until)), &self.ledger, now);
        let new = &self.ledger[entry];
        if let Some(left) = new.left
            && self.clients[client].newest
            && self.clients[client].holds(now) == Some(entry)
        {
            let session = self.history.of(new.session);
            if !session.left.contains(&left) {
                session.left.push(left);
            }
        }
    }
}

/// Whether an opened pin is the one that was issued, as far as its own claims tell.
fn is_of(pin: &SessionPin, entry: &Entry) -> bool {
    (
        pin.session.bits(),
        pin.revision.0,
        pin.moves,
        pin.assigned.0,
        pin.placed,
    ) == (
        entry.session,
        entry.revision,
        entry.moves,
        entry.assigned,
        entry.placed,
    ) && (
        pin.started.as_millis(),
        pin.issued.as_millis(),
        pin.expires.as_millis(),
    ) == (entry.started, entry.issued, entry.expires)
}
