//! The commit affinity gateway as a library.

pub mod config;

// The path of a request, in its order.
pub mod serve;

pub mod edge;

pub mod upstream;

mod trust;

#[cfg(test)]
mod wire;
