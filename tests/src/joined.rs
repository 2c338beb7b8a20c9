//! The ledgers of clients and pods, joined: what was lost, doubled, misplaced or moved.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;

use crate::load::{Outcome, Shots};
use crate::pod::Line;

/// What the ledgers say together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Joined {
    /// Requests that clients sent.
    pub requests: usize,
    /// Heads of them that came to pods: attempts.
    pub attempts: usize,
    /// Requests with more than one attempt.
    pub retried: usize,
    /// The most attempts of one request.
    pub most_attempts: usize,
    /// Requests that a pod is said to have answered, and that no pod of its group has executed.
    pub lost: Vec<u64>,
    /// Requests other than by idempotent methods that were executed more than once.
    pub doubled: Vec<u64>,
    /// Requests that came to pods of more than one group.
    pub crossed: Vec<u64>,
    /// Requests that were executed by a pod of another group than the gateway named.
    pub misplaced: Vec<u64>,
    /// Answers that looked complete and were not, or belonged to another request.
    pub short: Vec<u64>,
    /// How often each session changed its group, in the order in which its requests were sent.
    pub moves: BTreeMap<usize, usize>,
}

impl Joined {
    /// Joins what clients saw with what pods did.
    #[must_use]
    pub fn of(shots: &Shots, lines: &[Line]) -> Self {
        let mut came: BTreeMap<u64, Vec<&Line>> = BTreeMap::new();
        let mut done: BTreeMap<u64, Vec<&Line>> = BTreeMap::new();
        for line in lines {
            let by = if line.done { &mut done } else { &mut came };
            if let Some(id) = line.request {
                by.entry(id).or_default().push(line);
            }
        }
        let of = |by: &BTreeMap<u64, Vec<&Line>>, holds: &dyn Fn(&[&Line]) -> bool| {
            let found = by.iter().filter(|(_, lines)| holds(lines));
            found.map(|(id, _)| *id).collect::<Vec<_>>()
        };
        let groups = |lines: &[&Line]| {
            let groups: BTreeSet<_> = lines.iter().map(|line| &line.group).collect();
            groups.len()
        };
        let astray = |line: &&Line| line.wanted.as_ref() != Some(&line.group);
        Self {
            requests: shots.len(),
            attempts: came.values().map(Vec::len).sum(),
            retried: came.values().filter(|lines| lines.len() > 1).count(),
            most_attempts: came.values().map(Vec::len).max().unwrap_or_default(),
            lost: lost(shots, &done),
            doubled: of(&done, &|lines| {
                lines.len() > 1 && lines[0].method == Method::POST
            }),
            crossed: of(&came, &|lines| groups(lines) > 1),
            misplaced: of(&done, &|lines| lines.iter().any(astray)),
            short: short(shots),
            moves: moves(shots),
        }
    }

    /// Fails unless nothing was lost, doubled, crossed, misplaced or short: what holds under every
    /// fault.
    ///
    /// # Panics
    ///
    /// If something was.
    pub fn is_sound(&self) {
        assert!(self.attempts > 0, "nothing reached a pod");
        assert_eq!(
            self.lost,
            Vec::<u64>::new(),
            "answered, and executed by nobody"
        );
        assert_eq!(self.doubled, Vec::<u64>::new(), "executed twice, by POST");
        assert_eq!(self.crossed, Vec::<u64>::new(), "tried in two groups");
        assert_eq!(
            self.misplaced,
            Vec::<u64>::new(),
            "executed in a group that was not meant"
        );
        assert_eq!(
            self.short,
            Vec::<u64>::new(),
            "short or foreign answers that looked complete"
        );
    }

    /// All moves of all sessions.
    #[must_use]
    pub fn moved(&self) -> usize {
        self.moves.values().sum()
    }

    /// Attempts for each request.
    #[must_use]
    pub fn attempts_per_request(&self) -> f64 {
        self.attempts as f64 / self.requests as f64
    }
}

fn lost(shots: &Shots, done: &BTreeMap<u64, Vec<&Line>>) -> Vec<u64> {
    let executed = |id: &u64, group: &str| {
        done.get(id)
            .is_some_and(|lines| lines.iter().any(|line| line.group == group))
    };
    let lost = shots.iter().filter(|shot| match &shot.outcome {
        Outcome::Answered {
            group: Some(group), ..
        } => !executed(&shot.id, group),
        _ => false,
    });
    lost.map(|shot| shot.id).collect()
}

fn short(shots: &Shots) -> Vec<u64> {
    let short = shots
        .iter()
        .filter(|shot| matches!(shot.outcome, Outcome::Answered { whole: false, .. }));
    short.map(|shot| shot.id).collect()
}

fn moves(shots: &Shots) -> BTreeMap<usize, usize> {
    let mut last: BTreeMap<usize, &str> = BTreeMap::new();
    let mut moves = BTreeMap::new();
    for shot in shots.iter() {
        let Some(group) = shot.group() else { continue };
        if last
            .insert(shot.session, group)
            .is_some_and(|before| before != group)
        {
            *moves.entry(shot.session).or_default() += 1;
        }
    }
    moves
}
