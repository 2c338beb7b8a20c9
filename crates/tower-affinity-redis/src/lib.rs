//! Stored assignments of commit affinity in [Redis](https://redis.io) 7 or later, or in
//! [Valkey](https://valkey.io); one server, or the nodes of a cluster (feature `cluster`).
//!
//! ```
//! use tower_affinity_redis::{RedisOptions, RedisStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // connects when it is first asked; a server that is down is an error of that call
//! let store = RedisStore::new(
//!     ["redis://10.0.0.1:6379"],
//!     "affinity:checkout",
//!     "checkout".parse()?,
//!     RedisOptions::new().user("affinity").password("from a file"),
//! )?;
//! # drop(store);
//! # Ok(())
//! # }
//! ```
//!
//! # What lies there
//!
//! Sessions are spread over 64 buckets, `00` to `63`. All keys of a bucket have one hash tag:
//!
//! | key | what it holds |
//! | --- | --- |
//! | `{PREFIX:00}:s:ID`, `{PREFIX:00}:k:ID` | the row of a session, or of what a scope names: a head of fixed width, which scripts compare, and the row's JSON |
//! | `{PREFIX:00}:live:GROUP#GENERATION@ENDPOINT` | a sorted set: the rows of one group and endpoint by the second in which they end |
//! | `{PREFIX:00}:labels` | a set: what is written after `live:` in this bucket |
//!
//! With Redis' access control a user needs `~{PREFIX:*` and the commands `evalsha`, `eval`,
//! `getrange`, `set`, `del`, `zadd`, `zrem`, `zrange`, `zcount`, `sadd`, `srem`, `smembers` and
//! `expire`; a cluster needs `cluster|slots` as well.
//!
//! # One command for a request
//!
//! A claim, a replacement and a removal are one script each, sent by its digest; a load is one
//! `GETRANGE`. `SET … NX GET` alone would do for a claim that finds a row, but not for one that makes
//! one: that has to be counted in the same step, or a replica that dies in between leaves a session
//! that nobody counts. The script answers for a row that stands and is not due before it does anything
//! else: a server takes a third to a half as many of them in a second as of `SET … NX GET`. Only a row
//! that cannot be read, although its head looks right, takes a second command. A server that has lost
//! its scripts gets each of them once more.
//!
//! Whether a row has ended is decided by whoever reads it. The expiry that Redis knows is ten
//! minutes later, counted from now on and not by the server's clock, and only frees its memory.
//!
//! Live sessions are counted in [`upkeep`](tower_affinity_core::PinStore::upkeep), by one command for
//! each bucket. Rows that Redis evicts (`maxmemory-policy`) stay counted until they would have ended:
//! use `noeviction`, or a `volatile` policy and room enough.
//!
//! # When something fails
//!
//! All requests share one connection and do not wait for each other. One that has ended is made anew
//! at once; so is, every second at most, one that answers too late, that leads to a replica
//! (`READONLY`) or that has lost its login, while the old one is in use. An error tells what is wrong
//! in words of our own: what a server says could hold a key.
//!
//! # Why `redis`
//!
//! `redis` and `fred` both pipeline over one connection, reconnect and know clusters. `redis` has by
//! far more users and several maintainers, and its releases are regular; `fred` has mostly one author
//! and has been quiet. What `redis` leaves to its user, coming out of a state in which the connection
//! is there and of no use, is done here in a page.

mod failure;
mod keys;
mod limits;
mod link;
mod options;
mod row;
mod scripts;
mod store;

pub use options::{InvalidRedis, RedisOptions};
pub use store::RedisStore;
