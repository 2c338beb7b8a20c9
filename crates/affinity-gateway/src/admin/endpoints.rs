//! Which addresses a registration may name: the rules that the configuration has for its groups.
//! That no other group has them is looked after by the control plane.

use std::net::{IpAddr, SocketAddr};

use super::AdminOptions;
use super::problem::Problem;
use crate::config::{can_be_dialled, is_own};

/// # Errors
///
/// If an address is none of a server, is the gateway itself, or is named twice.
pub(super) fn check(options: &AdminOptions, endpoints: &[SocketAddr]) -> Result<(), Problem> {
    if endpoints.is_empty() {
        return Err(Problem::bad_request(
            "a group needs at least one endpoint, as IP:PORT",
        ));
    }
    for (nth, address) in endpoints.iter().enumerate() {
        if !can_be_dialled(address) {
            return Err(Problem::bad_request(format!(
                "{address} is no endpoint; the address and port of one server are needed"
            )));
        }
        if is_own(options.data, *address) || is_own(options.address, *address) {
            return Err(Problem::bad_request(format!(
                "{address} is the gateway itself; the address of an endpoint is needed"
            )));
        }
        let before = endpoints.get(..nth).unwrap_or_default();
        if before.iter().any(|other| place(*other) == place(*address)) {
            return Err(Problem::bad_request(format!("{address} is named twice")));
        }
    }
    Ok(())
}

/// One place has two spellings: `127.0.0.1` and `::ffff:127.0.0.1`.
fn place(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}
