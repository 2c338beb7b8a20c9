//! Parts that tests of commit affinity share.

mod mutate;

pub use mutate::mutate;
