//! F38: DynamoDB throttles, fails, is slow, tells what is stale, and keeps what has ended. With
//! `AFFINITY_FAULTS=full` in its long form; each run prints what it counted.

mod answers;
mod conflicts;
mod expired;
mod outages;
