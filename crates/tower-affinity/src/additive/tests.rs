//! Facts about payloads that several releases write.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod bounds;
mod formats;
mod objects;
mod releases;

use serde::{Deserialize, Serialize};

use super::Additive;

/// What the old release knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Old {
    step: u32,
    name: String,
}

/// What the next release knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct New {
    step: u32,
    name: String,
    coupon: Option<String>,
    total: f64,
}

fn new() -> New {
    New {
        step: 1,
        name: "Ada".to_owned(),
        coupon: Some("SPRING".to_owned()),
        total: 12.5,
    }
}
