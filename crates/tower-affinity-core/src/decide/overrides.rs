//! A tester's choice of a group.

use super::rule::{bypassed, refused};
use super::{Absence, Cause, Cohort, Decision, Inputs, Kind, Shown};
use crate::{Level, Override, Policy, SessionPin, State, Status};

impl Inputs<'_> {
    /// A tester's choice is served while its group serves anybody, and is never moved.
    pub(super) fn overridden(
        &self,
        policy: &Policy,
        level: Level,
        chosen: &Override,
        shown: &Shown,
    ) -> Decision {
        let known = chosen.group.known();
        let Some((id, group)) = known.and_then(|id| match self.rollout.status(id) {
            Status::Serving(group) => Some((id, group)),
            Status::Aborted(_) | Status::Gone => None,
        }) else {
            return refused(Cause::OverrideNotRoutable, known.cloned());
        };
        let opens = !matches!(
            shown,
            Shown::Nothing(Absence::Preflight | Absence::Withheld)
        );
        let draining = matches!(group.state(), State::Draining { .. });
        if !chosen.sticky || level == Level::Follow || draining || !opens {
            return Decision {
                kind: Kind::Overridden,
                ..bypassed(Cause::Granted, id.clone())
            };
        }
        let decision = match shown {
            Shown::Pin(pin) if pin.group.known() == Some(id) => {
                self.obeyed(policy, pin, id, Cause::Sticky)
            }
            _ => {
                let revision = self.rollout.revision();
                let lifetimes = policy.lifetimes;
                let pin =
                    SessionPin::new((self.fresh)(), id.clone(), revision, self.now, lifetimes);
                let pin = SessionPin {
                    placed: true,
                    ..pin
                };
                self.with_pin(Kind::Overridden, Cause::Sticky, id.clone(), pin, true)
            }
        };
        Decision {
            kind: Kind::Overridden,
            cohort: Cohort::None,
            ..decision
        }
    }
}
