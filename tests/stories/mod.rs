//! What an outsider sees of a gateway between real clients and real endpoints, story by story.

// Sessions.
mod abort;
mod auth_bursts;
mod browsers;
mod day;
mod endpoints;
mod outages;
mod pins;
mod propagation;
mod release;
mod replicas;
mod sessions;
mod steps;
mod stored;
mod testers;

// Operators.
mod drained;
mod edits;
mod endpoint_drains;
mod events;
mod facts;
mod fleet;
mod joining;
mod keys;
mod live;
mod mutations;
mod openapi;
mod previews;
mod restart;
mod verbs;

// Bytes.
mod bodies;
mod cuts;
mod early_answers;
mod ending;
mod http2;
mod interim;
mod proxies;
mod retries;
mod sockets;
mod tls;
mod upgrades;

// What is counted and logged.
mod access;
mod analysis;
mod counts;
mod monitoring;
mod sums;

// The binary.
mod binary;
mod command_line;
mod simulate;
