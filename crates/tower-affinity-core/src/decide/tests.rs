//! The rule as a table: what a client shows, in which town, and what is decided.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ask;
mod behind;
mod by_weight;
mod compatible;
mod endpoint;
mod forwarding;
mod hints;
mod issue;
mod levels;
mod lost;
mod navigation;
mod overrides;
mod pins;
mod release;
mod serving;
mod step;
mod told;
mod unpinned;
mod words;
