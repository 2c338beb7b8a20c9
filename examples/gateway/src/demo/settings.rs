//! The settings of the demo's gateways, as a file would give them.

use std::path::Path;

use affinity_gateway::config::{self, ConfigError, Settings};

use super::{board::Affinity, fleet::Fleet, flow::A, gateway::Places};

/// A gateway with commit A as its only group. `key` signs its pins; its files go to `dir`.
pub(crate) fn settings(
    affinity: Affinity,
    fleet: &Fleet,
    places: Places,
    key: &str,
    dir: &Path,
) -> Result<Settings, ConfigError> {
    let level = match affinity {
        Affinity::Off => "connection",
        Affinity::On => "group",
    };
    let endpoints: Vec<_> = fleet
        .endpoints(A.commit)
        .iter()
        .map(|endpoint| format!("\"{endpoint}\""))
        .collect();
    let text = format!(
        r#"
service = "demo"

[listen]
address = "{site}"
admin = "{admin}"
admin_token_file = "{TOKEN_FILE}"

[pin]
keys = ["demo:env:{KEY}"]
# the demo speaks plain HTTP
cookie = {{ secure = false }}

[[group]]
name = "{stable}"
endpoints = [{endpoints}]

[[scope]]
path = "/*"
affinity = "{level}"
"#,
        site = places.site,
        admin = places.admin,
        stable = A.commit,
        endpoints = endpoints.join(", "),
    );
    config::parse(&text, dir, &|name| (name == KEY).then(|| key.to_owned()))
}

/// In the directory of the gateway's files.
pub(super) const TOKEN_FILE: &str = "admin.token";
/// The only variable that the text refers to; it is answered from here, not by the environment.
const KEY: &str = "DEMO_KEY";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tower_affinity::core::Level;

    use super::*;

    #[tokio::test]
    async fn both_gateways_differ_in_their_affinity_only() {
        let fleet = Fleet::start().await.unwrap();
        let key = crate::key::fresh().unwrap();
        let read =
            |affinity| settings(affinity, &fleet, Places::free(), &key, Path::new("/tmp")).unwrap();
        let (mut off, on) = (read(Affinity::Off), read(Affinity::On));
        let scope = off.scopes.first_mut().unwrap();
        assert_eq!(scope.affinity, Level::Connection);
        scope.affinity = Level::Group;
        assert_eq!(off, on);
    }
}
