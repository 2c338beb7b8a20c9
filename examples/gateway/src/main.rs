//! The commit affinity gateway: one verb, one module.

#[cfg(test)]
mod demo;
#[cfg(test)]
mod key;

fn main() {}
