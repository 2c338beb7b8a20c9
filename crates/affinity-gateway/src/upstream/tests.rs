//! What an endpoint and a client see of each other through the leaf.

mod bodies;
mod faults;
mod fields;
mod switching;
