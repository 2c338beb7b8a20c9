//! Which of the pins that a request shows is the one that counts.

use crate::{Absence, Fault, SessionPin, Shown};

#[cfg(test)]
mod tests;

/// The way in which a request's pin came, and the only one in which an answer's pin goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// `Cookie` and `Set-Cookie`.
    Cookie,
    /// The header `affinity-pin`, in both directions.
    Header,
}

/// The most candidates of one carrier that are verified.
pub const MAX_CANDIDATES: usize = 4;

/// What the candidates of one carrier come to: the pin that counts, or what is wrong with the
/// first of them; `None` if there are none.
pub type Chosen = Option<Result<Box<SessionPin>, Fault>>;

/// Chooses among the candidates of one carrier: the greatest pin that `open` finds valid.
///
/// More than [`MAX_CANDIDATES`] are taken for none at all: [`Fault::Duplicates`]. The ones after
/// these are not opened. An `open` that finds more than it is to look at says the same of all by the
/// same fault.
pub fn choose<T, P: Into<Box<SessionPin>>>(
    candidates: impl IntoIterator<Item = T>,
    mut open: impl FnMut(T) -> Result<P, Fault>,
) -> Chosen {
    let mut best: Option<Box<SessionPin>> = None;
    let mut first_fault = None;
    for (nth, candidate) in candidates.into_iter().enumerate() {
        if nth == MAX_CANDIDATES {
            return Some(Err(Fault::Duplicates));
        }
        match open(candidate).map(Into::into) {
            Ok(pin) if best.as_ref().is_none_or(|best| rank(best) < rank(&pin)) => best = Some(pin),
            Ok(_) => {}
            Err(Fault::Duplicates) => return Some(Err(Fault::Duplicates)),
            Err(fault) => first_fault = first_fault.or(Some(fault)),
        }
    }
    match best {
        Some(pin) => Some(Ok(pin)),
        None => first_fault.map(Err),
    }
}

/// What a request shows, and the carrier of its answer's pin.
///
/// A valid pin in a header counts before those in cookies, so that two tabs can be on two commits.
/// If none is valid, a header makes its answer a header, whatever it holds: `header` is `None` only
/// without one, and `Some(None)` for an empty one, which asks for a pin. Cookies are looked at only
/// if no header holds the pin; `absent` says why there may be none at all.
pub fn present(
    header: Option<Chosen>,
    cookie: impl FnOnce() -> Chosen,
    absent: impl FnOnce() -> Absence,
) -> (Shown, Carrier) {
    let by_header = header.is_some();
    let mut fault = None;
    match header.flatten() {
        Some(Ok(pin)) => return (Shown::Pin(pin), Carrier::Header),
        Some(Err(first)) => fault = Some(first),
        None => {}
    }
    match cookie() {
        Some(Ok(pin)) => return (Shown::Pin(pin), Carrier::Cookie),
        Some(Err(first)) => fault = fault.or(Some(first)),
        None => {}
    }
    let absence = match (absent(), fault) {
        (Absence::Preflight, _) => Absence::Preflight,
        (_, Some(fault)) => Absence::Fault(fault),
        // whoever sends a header is no browser that keeps its cookie back
        (Absence::Withheld, None) if by_header => Absence::New,
        (absence, None) => absence,
    };
    let carrier = if by_header {
        Carrier::Header
    } else {
        Carrier::Cookie
    };
    (Shown::Nothing(absence), carrier)
}

/// The greatest of several valid pins counts. The last two parts only keep the order in which equal
/// ones were sent from having a say: who can add a cookie can also put it first.
fn rank(pin: &SessionPin) -> impl Ord + use<> {
    (pin.precedence(), pin.expires, pin.session)
}
