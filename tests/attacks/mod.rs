//! What a stranger tries against a running gateway, attack by attack, and what must come out.
//!
//! Clients write their bytes by hand; endpoints keep every byte that reaches them.

mod support;

// The token.
mod extremes;
mod jwt;
mod pins;
mod tokens;

// What carries it, and what it travels with.
mod caches;
mod conditional;
mod cookies;
mod headers;

// Connections.
mod bombs;
mod collisions;
mod floods;
mod frames;
mod framing;
mod fuzz;
mod slow;
mod tables;

// The operator's side.
mod admin;
mod logs;
mod startup;

// Together.
mod mixtures;
