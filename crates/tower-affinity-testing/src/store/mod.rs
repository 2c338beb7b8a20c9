//! Stores of assignments in tests: a plain one, and the facts that every store has to fulfil.
//!
//! [`conform`] holds for all stores, [`conform_bounded`] for those with a capacity, and
//! [`conform_rows`] for those whose rows somebody else could have written.

mod bounded;
#[cfg(test)]
mod broken;
mod conform;
mod facts;
mod parts;
mod plain;
mod rows;
#[cfg(test)]
mod tests;

pub use self::bounded::conform_bounded;
pub use self::conform::conform;
pub use self::parts::SERVICE;
pub use self::plain::PlainStore;
pub use self::rows::{Planted, conform_rows};
