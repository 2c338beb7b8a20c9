//! Configurations that are right, wrong, and wrong in ways nobody thought of.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::path::Path;

use super::{ConfigError, Settings, parse};

mod access_log;
mod analysis;
mod balance;
mod discovery;
mod documented;
mod effective;
mod experiments;
mod files;
mod health;
mod invariants;
mod keys;
mod limits;
mod mutations;
mod retries;
mod right;
pub(crate) mod scratch;
mod states;
mod store;
mod syntax;
mod tls;
mod wrong;
mod wrong_groups;
mod wrong_scopes;

/// The keys that this version knows but for `[[experiment]]`, as the documentation of the file shows them.
const EXAMPLE: &str = r#"
service = "checkout"
[listen]
address = "127.0.0.1:8080"
admin   = "127.0.0.1:9090"
admin_token_file = "admin.token"
trusted_proxies  = []
[pin]
keys      = ["2026-11:env:AFFINITY_KEY_2026_11", "2026-08:env:AFFINITY_KEY_2026_08"]
carriers  = ["cookie", "header"]
idle_ttl  = "30m"
max_age   = "4h"
local_idle_timeout = "10m"
clock_skew = "5m"
cookie    = { secure = true, same_site = "lax", partitioned = false }
[upstream]
connect_timeout = "1s"
response_timeout = "30s"
health    = { path = "/livez", interval = "2s", unhealthy_after = 2, healthy_after = 1 }
[[group]]
name      = "9f1c2ab"
weight    = 90
stable    = true
endpoints = ["127.0.0.1:7001", "127.0.0.1:7002"]
max_in_flight = 512
[[group]]
name      = "c3d4e5f"
weight    = 10
state     = "active"
compatible_with = []
endpoints = ["127.0.0.1:7003"]
[[scope]]
path      = "/static/*"
affinity  = "follow"
[[scope]]
path      = "/*"
affinity  = "group"
assign    = "session"
on_gone   = "move"
on_step   = "keep"
cache     = "private"
streaming = false
propagate = false
restart_url = "/start"
[rollback]
policy    = "move"
within    = "10m"
streams   = "30s"
[state]
file      = "gateway-state.json"
"#;

/// The least that is a configuration.
const MINIMAL: &str = r#"
service = "checkout"
[pin]
keys = ["a:env:KEY_A"]
[[group]]
name = "9f1c2ab"
endpoints = ["127.0.0.1:7001"]
"#;

const DIR: &str = "/etc/affinity";

/// Distinct keys for every name, but for those that are wrong by name.
fn env(name: &str) -> Option<String> {
    match name {
        "UNSET" => None,
        long if long.len() > 40 => None,
        "EMPTY" => Some(String::new()),
        "SHORT" => Some("c2hvcnQ".to_owned()),
        "ZEROS" => Some("A".repeat(43)),
        "PAIRS" => Some("YWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWI".to_owned()),
        "EXAMPLE" => Some("YW4gZXhhbXBsZSBrZXksIG5vdCBmb3IgcmVhbCB1c2U".to_owned()),
        "PRIVATE" => Some(PRIVATE.to_owned()),
        "PUBLIC" => Some(PUBLIC.to_owned()),
        "IDS" | "AFFINITY_ID_SECRET" => Some(IDS.to_owned()),
        "HEX" => {
            Some("0b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cf!".to_owned())
        }
        "PADDED" => Some(format!("{}=", KEY_A)),
        "LONG" => Some("Qx7".repeat(1_000)),
        "NEWLINE" => Some(format!("{KEY_A}\n")),
        "KEY_A" | "AFFINITY_KEY_2026_11" => Some(KEY_A.to_owned()),
        _ => Some(KEY_B.to_owned()),
    }
}

const KEY_A: &str = "rJ3kq0v9W5c1mZpXy7TnB2LsEo8HdUaGfQiK4wRxV6M";
const KEY_B: &str = "u1NfQ7xYb5LzK0jVhT3sRmPw9gCeDi6AoG2kXq8Bn4E";

/// The seed and the public key of the second test of RFC 8032.
const PRIVATE: &str = "TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs";
const PUBLIC: &str = "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw";
const IDS: &str = "Zk7vQ2mXc9RbT5nLh1WpJ8yUeG4dSa0oKiF6xVtM3Yw";

fn settings(text: &str) -> Settings {
    read(text).unwrap_or_else(|error| panic!("refused: {error}\n{text}"))
}

fn read(text: &str) -> Result<Settings, ConfigError> {
    parse(text, Path::new(DIR), &env)
}

/// The example with one piece of text replaced, which must be there.
fn edited(from: &str, to: &str) -> String {
    assert!(EXAMPLE.contains(from), "the example does not hold {from:?}");
    EXAMPLE.replacen(from, to, 1)
}
