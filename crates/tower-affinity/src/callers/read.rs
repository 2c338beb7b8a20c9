//! What a trusted caller says about its session.

use std::time::Duration;

use http::Request;
use http::header::{HeaderMap, HeaderValue};
use tower_affinity_core::{
    Chosen, DrawKey, DrawSalt, Fault, Lifetimes, MAX_CANDIDATES, Timestamp, choose,
};

use super::{Caller, Callers};
use crate::carrier::header;
use crate::record::Recorder;

/// The pins of a request that are those of a trusted caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct FromCaller {
    /// That whose session is the key, as it came, and the key.
    pub(crate) session: Option<(HeaderValue, DrawKey)>,
    /// All that a caller has signed, also those whose time is over: none is a try at a pin of ours.
    theirs: Vec<HeaderValue>,
}

impl FromCaller {
    /// The candidates for our own pin.
    pub(crate) fn others<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a [u8]> {
        header::candidates(headers)
            .filter(|token| !self.theirs.iter().any(|theirs| theirs == token))
    }

    /// Whether the header holds pins of callers and nothing else, not even an empty one: nobody asks
    /// for a pin of ours.
    pub(crate) fn are_all(&self, headers: &HeaderMap) -> bool {
        let mut sent = headers.get_all(header::PIN).iter();
        !self.theirs.is_empty() && sent.all(|value| self.theirs.contains(value))
    }
}

impl Callers {
    /// Reads what the header holds, if who sends it is trusted.
    ///
    /// The first caller that has a pin there which is valid is the one; of several of its pins it is
    /// the greatest. So the order in which they are sent has no say.
    pub(crate) fn read<B>(
        &self,
        request: &Request<B>,
        at: Timestamp,
        salt: &DrawSalt,
        recorder: &Recorder,
    ) -> FromCaller {
        let mut read = FromCaller::default();
        let headers = request.headers();
        if !headers.contains_key(header::PIN) || !self.trust.holds(request.extensions()) {
            return read;
        }
        for caller in &self.callers {
            let (chosen, signed) = caller.read(headers, at);
            read.theirs.extend(signed);
            let name = caller.verifier.service();
            match chosen {
                Some(Ok(pin)) if read.session.is_none() => {
                    recorder.caller_pin(name, None);
                    let key = salt.key_of(&caller.source, &pin.session.bits().to_be_bytes());
                    let is_chosen = |token: &&[u8]| {
                        let opened = caller.verifier.open(token, at, theirs());
                        opened.is_ok_and(|opened| opened.pin == *pin)
                    };
                    let token = header::candidates(headers).find(is_chosen);
                    let token = token.and_then(|token| HeaderValue::from_bytes(token).ok());
                    read.session = token.map(|token| (token, key));
                }
                Some(Err(fault)) if is_theirs(fault) => recorder.caller_pin(name, Some(fault)),
                _ => {}
            }
        }
        read
    }
}

impl Caller {
    /// Its pin that counts, and all tokens that it has signed.
    fn read(&self, headers: &HeaderMap, at: Timestamp) -> (Chosen, Vec<HeaderValue>) {
        let mut signed = Vec::new();
        let candidates = header::candidates(headers).take(MAX_CANDIDATES);
        let mut opener = self.verifier.opener(at, theirs());
        let chosen = choose(candidates, |token| {
            let opened = opener.open(token);
            if opened.as_ref().err().is_none_or(|fault| is_theirs(*fault)) {
                signed.extend(HeaderValue::from_bytes(token));
            }
            opened.map(|(pin, _)| pin)
        });
        (chosen, signed)
    }
}

/// Whether a token with this fault is one of the caller's nevertheless: only its time is wrong.
fn is_theirs(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::ExpiredIdle | Fault::ExpiredMax | Fault::FromFuture
    )
}

/// How long a caller's sessions live is its own affair: its pins end when they say.
fn theirs() -> Lifetimes {
    // a second is not longer than for ever
    Lifetimes::new(Duration::from_secs(1), Duration::MAX).unwrap_or_default()
}
