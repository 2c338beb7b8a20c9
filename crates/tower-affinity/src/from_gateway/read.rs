//! From headers to a decision.

use http::{Extensions, HeaderMap, HeaderName};
use tower_affinity_core::{Decision, PinVerifier, SessionPin, Told};

use super::shared::Shared;
use crate::carrier::header::PIN;
use crate::record::ToldRejected;
use crate::tag::{ARMS, DECISION, GROUP, MOVED_FROM, SESSION, is_ours};
use crate::{Affinity, Arms};

impl Shared {
    /// What was decided for a request, and its arms, if anything is said of it.
    pub(super) fn read(
        &self,
        extensions: &Extensions,
        headers: &HeaderMap,
    ) -> Result<Option<(Affinity, Arms)>, ToldRejected> {
        if !self.trust.holds(extensions) {
            return match headers.keys().any(is_ours) {
                true => Err(ToldRejected::Untrusted),
                false => Ok(None),
            };
        }
        let group = only(headers, &GROUP)?;
        let decision = only(headers, &DECISION)?;
        let session = only(headers, &SESSION)?;
        let moved_from = only(headers, &MOVED_FROM)?;
        let pin = only(headers, &PIN)?;
        let arms = only(headers, &ARMS)?;
        let (Some(group), Some(decision)) = (group, decision) else {
            let nothing = [group, decision, session, moved_from, pin, arms] == [None; 6];
            return match nothing {
                true => Ok(None),
                false => Err(ToldRejected::Malformed),
            };
        };
        let told = Decision::told(Told {
            group,
            decision,
            session,
            moved_from,
        })?;
        let arms = match arms {
            Some(text) => Arms::told(text).ok_or(ToldRejected::Malformed)?,
            None => self.no_arms.clone(),
        };
        let affinity = match &self.verifier {
            Some(verifier) => Affinity::new(self.verified(verifier, told, pin)?),
            None => Affinity::told(told),
        };
        Ok(Some((affinity, arms)))
    }

    /// The decision with what its pin tells besides.
    fn verified(
        &self,
        verifier: &PinVerifier,
        told: Decision,
        token: Option<&str>,
    ) -> Result<Decision, ToldRejected> {
        let (Some(pin), Some(token)) = (&told.pin, token) else {
            return match (&told.pin, token) {
                (None, None) => Ok(told),
                // a session without its pin, or a pin without its session
                _ => Err(ToldRejected::Pin),
            };
        };
        let opened = verifier.open(token.as_bytes(), self.clock.now(), self.lifetimes);
        let opened = opened.map_err(|_| ToldRejected::Pin)?.pin;
        if opened.session != pin.session {
            return Err(ToldRejected::Pin);
        }
        // names are told in words, since in the pin they may be hidden from this service
        let pin = SessionPin {
            group: pin.group.clone(),
            last_move: pin.last_move.clone(),
            ..opened
        };
        Ok(Decision {
            pin: Some(pin),
            ..told
        })
    }
}

/// The one value of a header.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ToldRejected> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| ToldRejected::Malformed),
        (Some(_), Some(_)) => Err(ToldRejected::Duplicates),
    }
}
