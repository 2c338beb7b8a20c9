//! The control plane: what operators ask for, and how it comes to the replicas.

use std::rc::Rc;

use tower_affinity_core::{Change, Revision, State as GroupState, Timestamp};

use super::Violation;
use super::model::Life;
use super::names::{GROUPS, Id, SKEW, TA, id_of};
use super::parts::{Order, Stay};
use super::world::{Check, Event, Source, State, View, World};

impl World<'_> {
    pub(super) fn operate(&mut self) -> Check {
        let order = self.any_order();
        let next = match order {
            // what is new is soon used: replicas that are behind meet a group that they do not know
            Order::Register(group, _) | Order::Restore(group) if self.dice.chance(500) => {
                Some(Order::Weights(vec![(group, 100)]))
            }
            _ => None,
        };
        if next.is_some() || self.dice.chance(100) {
            self.hurry = 30;
        }
        if next.is_some() && self.dice.chance(300) {
            let cut = self.dice.below(self.replicas.len());
            self.replicas[cut].cut_until = self.now + self.dice.within(5_000, 60_000);
            self.hurry = 60;
        }
        self.issue(&order)?;
        next.map_or(Ok(()), |next| self.issue(&next))
    }

    fn issue(&mut self, order: &Order) -> Check {
        match self.source {
            Source::Engine => {
                let view = self.replicas[0].view();
                let (head, now) = (Rc::clone(&self.head), Timestamp::from_millis(self.now));
                if let Some(next) = self.changed(&head, order, view, now, None)? {
                    self.head = Rc::clone(&next);
                    for replica in 0..self.replicas.len() {
                        self.send(replica, &next);
                    }
                }
                Ok(())
            }
            Source::Files => {
                if self.replicas.len() > 1 && self.dice.chance(30) {
                    self.cross();
                    return Ok(());
                }
                for replica in 0..self.replicas.len() {
                    let alone = self.replicas.len() == 1;
                    if alone || !self.dice.chance(80) {
                        let delay = if alone { 0 } else { self.any_delay() };
                        self.after(delay, Event::Obey(replica, order.clone()));
                    }
                    if self.dice.chance(100) {
                        let delay = self.any_delay();
                        self.after(delay, Event::Obey(replica, order.clone()));
                    }
                }
                Ok(())
            }
        }
    }

    /// Two operators at once, each at another replica: they abort each other's target.
    fn cross(&mut self) {
        let group = self.any_group();
        let other = self.any_group();
        for (replica, group, to) in [(0, group, other), (1, other, group)] {
            let abort = Order::Abort {
                group,
                to: Some(to),
                policy: None,
                force: true,
            };
            self.after(0, Event::Obey(replica, abort));
        }
    }

    /// A snapshot on its way to a replica: late, twice, or lost until the replica reads again.
    fn send(&mut self, replica: usize, state: &Rc<State>) {
        let delay = self.any_delay();
        if self.dice.chance(100) {
            self.after(delay + 60_000, Event::Reread(replica));
        } else {
            self.after(delay, Event::Deliver(replica, Rc::clone(state)));
        }
        if self.dice.chance(100) {
            let again = self.any_delay();
            self.after(again, Event::Deliver(replica, Rc::clone(state)));
        }
    }

    fn any_delay(&mut self) -> u64 {
        match self.dice.below(10) {
            0..=5 => self.dice.within(0, 500),
            6..=7 => self.dice.within(0, 5_000),
            _ => self.dice.within(0, 60_000),
        }
    }

    pub(super) fn any_group(&mut self) -> u8 {
        u8::try_from(self.dice.below(GROUPS)).unwrap_or_default()
    }

    /// A group to which the verb of that number mostly applies.
    fn fitting_group(&mut self, verb: usize) -> u8 {
        let mut group = self.any_group();
        for _ in 0..3 {
            let model = match self.source {
                Source::Engine => &self.head.model,
                Source::Files => &self.replicas[0].state.model,
            };
            let life = model.group(group).map(|group| group.life);
            let fits = match verb {
                0 | 1 => matches!(life, None | Some(Life::Retired(_))),
                9..=11 => life == Some(Life::Active) && group != model.stable,
                16 | 17 => matches!(life, Some(Life::Aborted | Life::Retired(_))),
                18.. => matches!(life, Some(Life::Draining | Life::Staged | Life::Aborted)),
                _ => matches!(life, Some(Life::Staged | Life::Active | Life::Draining)),
            };
            if fits {
                break;
            }
            group = self.any_group();
        }
        group
    }

    fn any_order(&mut self) -> Order {
        let verb = self.dice.below(20);
        let group = self.fitting_group(verb);
        match verb {
            0 | 1 => {
                let weight = self.dice.within(0, 2) * 10;
                Order::Register(group, weight)
            }
            2..=5 => {
                let other = (group + 1) % GROUPS as u8;
                let weights = [group, other].map(|n| (n, self.dice.within(0, 4) * 25));
                Order::Weights(weights.into_iter().take(1 + self.dice.below(2)).collect())
            }
            6..=8 => Order::Promote(group),
            9..=11 => Order::Drain(group),
            12..=15 => {
                let policy = match self.dice.below(8) {
                    0..=3 => None,
                    4 => Some(Stay::Move),
                    5 | 6 => Some(Stay::For(self.dice.within(1, 3_600))),
                    _ => Some(Stay::End),
                };
                let to = if self.dice.chance(400) {
                    Some(self.any_group())
                } else {
                    None
                };
                let force = self.dice.chance(200);
                Order::Abort {
                    group,
                    to,
                    policy,
                    force,
                }
            }
            16 | 17 => Order::Restore(group),
            _ => {
                let force = self.dice.chance(150);
                Order::Retire { group, force }
            }
        }
    }

    /// An order reaches a replica that has a file of its own.
    pub(super) fn obey(&mut self, replica: usize, order: &Order) -> Check {
        let own = Rc::clone(&self.replicas[replica].state);
        let (view, now) = (self.replicas[replica].view(), self.clock(replica));
        match self.changed(&own, order, view, now, Some(replica))? {
            Some(next) => self.accept(replica, next),
            None => Ok(()),
        }
    }

    /// The state after an order, by the real rollout and by the model; `None` if both refuse or
    /// nothing changes.
    pub(super) fn changed(
        &mut self,
        state: &Rc<State>,
        order: &Order,
        view: View,
        now: Timestamp,
        replica: Option<usize>,
    ) -> Check<Option<Rc<State>>> {
        let revision = Revision(state.rollout.revision().0 + 1);
        let change = Change {
            revision,
            now,
            max_age: TA,
        };
        let drained_by = self.drained_by(state, order, replica);
        let real = self
            .parts
            .change(&state.rollout, order, &view, drained_by, change);
        let ready = |n: u8| view.0[usize::from(n)].is_none();
        let drained = drained_by.is_none_or(|by| now > by);
        let model = state
            .model
            .after(order, revision.0, now.as_millis(), ready, drained);
        self.trace.tell(|| {
            format!(
                "order {order:?} at {replica:?}: {}",
                match &real {
                    Ok(rollout) => format!("revision {}", rollout.revision()),
                    Err(refusal) => format!("refused, {refusal}"),
                }
            )
        });
        self.trace
            .mix_numbers(&[revision.0, u64::from(real.is_ok())]);
        let (rollout, model) = match (real, model) {
            (Ok(rollout), Some(model)) => (rollout, model),
            (Err(_), None) => {
                self.trace.reached.change_refused += 1;
                let waits = matches!(order, Order::Retire { group, .. } if matches!(state.model.group(*group).map(|g| g.life), Some(Life::Draining)));
                self.trace.reached.not_drained_yet += u64::from(waits);
                return Ok(None);
            }
            (Ok(_), None) => return Violation::of("refusals", format!("{order:?} was accepted")),
            (Err(refusal), Some(_)) => {
                return Violation::of("refusals", format!("{order:?} was refused: {refusal}"));
            }
        };
        let sticky = if matches!(order, Order::Abort { .. } | Order::Restore(_)) {
            "I2 abort"
        } else {
            "life of a group"
        };
        if let Some(objection) = model.objection(&rollout) {
            return Violation::of(sticky, format!("after {order:?}: {objection}"));
        }
        if !model.remembers(&rollout) {
            return Violation::of("I10 bounded state", format!("after {order:?}: {rollout:?}"));
        }
        if rollout.revision() == state.rollout.revision() {
            return Ok(None);
        }
        self.note(state, order, drained_by.is_some());
        Ok(Some(State::new(rollout, model)))
    }

    /// Notes what an accepted order means for the invariants and for what has to be reached.
    fn note(&mut self, before: &State, order: &Order, was_draining: bool) {
        match order {
            Order::Retire {
                group,
                force: false,
            } if was_draining => {
                if let Some(id) = before
                    .rollout
                    .group(super::names::name_of(*group))
                    .map(|g| id_of(g.id()))
                {
                    self.drained.insert(id);
                    self.trace.reached.retired_when_drained += 1;
                }
            }
            // a name that was forgotten begins anew
            Order::Register(group, _) if before.model.group(*group).is_none() => {
                self.drained.retain(|id| id.0 != *group);
            }
            Order::Abort { group, .. } => {
                let life = before.model.group(*group).map(|group| group.life);
                let again = life == Some(Life::Aborted);
                self.trace.reached.abort_repeated_with_another_policy += u64::from(again);
                let targets = before
                    .model
                    .aborts
                    .values()
                    .any(|(abort, _)| abort.target.0 == *group);
                self.trace.reached.abort_of_a_target += u64::from(targets && !again);
            }
            _ => {}
        }
    }

    /// When the group of a retirement is drained at the latest; `None` if it does not drain or the
    /// answer means nothing, since other replicas with files of their own still use it.
    fn drained_by(
        &self,
        state: &State,
        order: &Order,
        replica: Option<usize>,
    ) -> Option<Timestamp> {
        let Order::Retire { group, .. } = order else {
            return None;
        };
        let name = super::names::name_of(*group);
        let group = state.rollout.group(name)?;
        let GroupState::Draining { since } = group.state() else {
            return None;
        };
        let id = id_of(group.id());
        match (self.source, replica) {
            (Source::Engine, _) => {
                let known = self
                    .replicas
                    .iter()
                    .map(|replica| match replica.draining.get(&id) {
                        Some((of, known)) if of == since => Some(*known),
                        _ => None,
                    });
                let all_know = known
                    .collect::<Option<Vec<_>>>()
                    .and_then(|all| all.into_iter().max());
                Some(match all_know {
                    Some(moment) => self
                        .parts
                        .drained_by(Timestamp::from_millis(moment), TA, SKEW),
                    None => Timestamp::from_millis(u64::MAX),
                })
            }
            (Source::Files, _) if self.replicas.len() == 1 => {
                Some(self.parts.drained_by(*since, TA, std::time::Duration::ZERO))
            }
            // only all files together could tell
            (Source::Files, _) => Some(Timestamp::from_millis(u64::MAX)),
        }
    }

    /// A replica takes a state that was delivered, if it is newer than its own.
    pub(super) fn accept(&mut self, replica: usize, next: Rc<State>) -> Check {
        let now = self.now;
        let own = &self.replicas[replica];
        if !self.parts.supersedes(&next.rollout, &own.state.rollout) {
            self.trace.reached.stale_delivery += 1;
            return Ok(());
        }
        if next.rollout.revision() < own.state.rollout.revision() {
            let (from, to) = (own.state.rollout.revision(), next.rollout.revision());
            return Violation::of(
                "I4 revisions",
                format!("replica {replica} fell from {from} to {to}"),
            );
        }
        let own = &mut self.replicas[replica];
        let mut draining = std::collections::BTreeMap::new();
        for group in next.rollout.groups() {
            if let GroupState::Draining { since } = group.state() {
                let id: Id = id_of(group.id());
                let known = own.draining.get(&id).filter(|(of, _)| of == since);
                draining.insert(id, known.copied().unwrap_or((*since, now)));
            }
        }
        own.draining = draining;
        if own
            .behind
            .is_some_and(|(revision, _)| next.rollout.revision().0 >= revision)
        {
            own.behind = None;
        }
        own.state = next;
        let revision = own.state.rollout.revision();
        self.trace
            .tell(|| format!("replica {replica} has revision {revision}"));
        self.trace.mix_numbers(&[replica as u64, revision.0]);
        self.count_crossed();
        Ok(())
    }

    fn count_crossed(&mut self) {
        let crossed = |a: &State, b: &State| {
            a.model.aborts.iter().any(|(id, (abort, _))| {
                b.model
                    .aborts
                    .get(&abort.target)
                    .is_some_and(|(back, _)| back.target == *id)
            })
        };
        let states: Vec<&State> = self
            .replicas
            .iter()
            .map(|replica| &*replica.state)
            .collect();
        let any = states.iter().any(|a| states.iter().any(|b| crossed(a, b)));
        self.trace.reached.crossed_aborts += u64::from(any);
    }
}
