//! The commit affinity gateway as a library.

pub mod config;
