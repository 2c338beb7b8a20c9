//! Many replicas: what they share, and what each says of itself.
//!
//! `engine` is the contract of the place where the shared state is kept; the backends fulfil it.

mod engine;

pub use self::engine::{Announced, Engine, EngineError, EngineFuture, Replaced, Stored, Version};
