//! `gateway demo`: what commit affinity saves, seen on a small flow with simulated clients.

mod flow;
