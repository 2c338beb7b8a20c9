//! The commit affinity gateway: one verb, one module.

#[cfg(test)]
mod demo;

fn main() {}
