//! A list of endpoints that a source has found: right as a whole, or refused as a whole.

use std::net::SocketAddr;

use crate::config::{MAX_ENDPOINTS, can_be_dialled, is_own};
use crate::control::Failure;

/// Why an answer of a source did not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    pub(super) why: String,
}

impl Trouble {
    pub(super) fn new(failure: Failure, why: impl Into<String>) -> Self {
        Self {
            failure,
            why: why.into(),
        }
    }
}

/// What a source has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) endpoints: Vec<SocketAddr>,
    /// What is wrong with the answer, or with a part of it.
    pub(super) trouble: Option<Trouble>,
}

impl From<Trouble> for Found {
    fn from(trouble: Trouble) -> Self {
        Self {
            endpoints: Vec::new(),
            trouble: Some(trouble),
        }
    }
}

/// The same list in order and without repetitions, if all of it can be used: `own` are the
/// gateway's own addresses.
pub(super) fn usable(
    mut endpoints: Vec<SocketAddr>,
    own: &[SocketAddr],
) -> Result<Vec<SocketAddr>, Trouble> {
    let invalid = |why: String| Err(Trouble::new(Failure::Invalid, why));
    for address in &mut endpoints {
        // one place has two spellings: 127.0.0.1 and ::ffff:127.0.0.1
        address.set_ip(address.ip().to_canonical());
    }
    // a name's addresses come in another order each time
    endpoints.sort_unstable();
    endpoints.dedup();
    if endpoints.is_empty() {
        return Err(Trouble::new(Failure::Empty, "it names no endpoint"));
    }
    if endpoints.len() > MAX_ENDPOINTS {
        let count = endpoints.len();
        return invalid(format!(
            "it has {count} endpoints, more than {MAX_ENDPOINTS}"
        ));
    }
    for address in &endpoints {
        if !can_be_dialled(address) {
            return invalid(format!("{address} is the address of no server"));
        }
        if own.iter().any(|own| is_own(*own, *address)) {
            return invalid(format!("{address} is the gateway itself"));
        }
    }
    Ok(endpoints)
}
