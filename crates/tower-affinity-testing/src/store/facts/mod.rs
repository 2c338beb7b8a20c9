//! The facts, by what they are about.

#![allow(clippy::expect_used, clippy::panic)] // all of it is test code

pub(super) mod claims;
pub(super) mod clocks;
pub(super) mod counts;
pub(super) mod drops;
pub(super) mod ends;
pub(super) mod keys;
pub(super) mod replaces;
