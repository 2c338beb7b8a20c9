//! The shared engine in tests: one in memory that fails on demand, and the facts that every engine
//! has to fulfil.

mod conform;
mod fault;
mod memory;
#[cfg(test)]
mod tests;

pub use self::conform::conform;
pub use self::fault::Fault;
pub use self::memory::MemoryEngine;
