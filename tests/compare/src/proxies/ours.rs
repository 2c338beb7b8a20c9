//! The gateway, as it is without settings.

use std::net::SocketAddr;

use affinity_tests::Scratch;
use affinity_tests::config::Config;

use super::{Site, Wire};
use crate::pods::GROUPS;

/// The shares of new sessions, of the groups in their order.
pub(crate) const WEIGHTS: [u16; 2] = [90, 10];

/// The configuration of a gateway in front of the endpoints.
pub(crate) fn config(address: SocketAddr, site: Site<'_>) -> Config {
    let groups = GROUPS.iter().zip(WEIGHTS).enumerate();
    let groups =
        groups.map(|(group, (name, weight))| (*name, weight, site.pods.of(group).to_vec()));
    Config {
        address,
        ..Config::of(groups)
    }
}

/// Writes the configuration; the arguments that name it.
pub(super) fn set_up(
    dir: &Scratch,
    address: SocketAddr,
    wire: Wire,
    site: Site<'_>,
) -> Vec<String> {
    let mut config = config(address, site);
    if wire == Wire::Tls {
        config.listen = "tls = { cert = \"cert.pem\", key = \"key.pem\" }".to_owned();
    }
    let file = config.write(dir, "gateway.toml").display().to_string();
    ["run", "--config", &file].map(str::to_owned).to_vec()
}
