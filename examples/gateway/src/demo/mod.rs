//! `gateway demo`: what commit affinity saves, seen on a small flow with simulated clients.

mod acts;
mod board;
mod client;
mod fleet;
mod flow;
mod gateway;
mod jar;
mod live;
mod operator;
mod ports;
mod report;
mod scratch;
mod screen;
mod settings;
mod show;
mod table;
mod tally;
mod verb;
mod walk;

pub(crate) use self::{live::Live, verb::Demo};

#[cfg(test)]
mod standin;
#[cfg(test)]
mod tests;
