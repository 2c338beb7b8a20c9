//! The shared engine in tests: one in memory that fails on demand, the facts that every engine has
//! to fulfil, and a real etcd to hold against them.

#[cfg(test)]
mod broken;
mod conform;
mod etcd;
mod fault;
mod memory;
#[cfg(test)]
mod tests;

pub use self::conform::conform;
pub use self::etcd::{EtcdBackup, EtcdServer};
pub use self::fault::Fault;
pub use self::memory::MemoryEngine;
