//! One binary for all end-to-end stories.
