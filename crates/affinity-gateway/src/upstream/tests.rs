//! What an endpoint and a client see of each other through the leaf.

mod bodies;
mod crossing;
mod faults;
mod fields;
mod hostile;
mod http2;
mod interim;
mod lengths;
mod peers;
mod pooling;
mod secure;
mod sizes;
mod switching;
mod times;
