//! A small onboarding flow, of which each commit has its own graph of steps.
//!
//! The client carries the state from step to step. A state names the step it stands at and holds
//! the answers given so far; it does not name the commit that wrote it. So a commit whose graph
//! has other steps, or asks for them in another order, cannot go on with it: the lookup fails.

mod answer;
mod commits;
mod graph;
mod router;

pub(crate) use self::{
    answer::{Answer, StepRequest},
    commits::{A, B, C},
    graph::{FINISH, Graph, State},
    router::router,
};

#[cfg(test)]
mod tests;
