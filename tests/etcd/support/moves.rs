//! What clients and endpoints saw of moves, joined.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use affinity_tests::endpoint::Execution;
use affinity_tests::fleet::Ledger;
use affinity_tests::history::{Entry, History};

/// Both ledgers of a story.
#[derive(Debug)]
pub(crate) struct Moves {
    entries: Vec<Entry>,
    /// In order of arrival.
    executions: Vec<Execution>,
    by_request: BTreeMap<u64, usize>,
}

impl Moves {
    /// Joins them; they have to balance, and nobody may have been refused.
    pub(crate) fn of(history: &History, ledger: &Ledger) -> Self {
        history.balances(ledger);
        let executions = ledger.entries();
        let by_request = executions.iter().map(|e| e.request).zip(0..).collect();
        let entries = history.entries();
        let refused = entries.iter().find(|entry| entry.status != 200);
        assert!(refused.is_none(), "refused: {refused:?}");
        Self {
            entries,
            executions,
            by_request,
        }
    }

    fn execution(&self, entry: &Entry) -> &Execution {
        &self.executions[self.by_request[&entry.request]]
    }

    /// The moves of each session, as (whence, whither), in order of decision.
    pub(crate) fn edges(&self) -> BTreeMap<String, Vec<(String, String)>> {
        let mut sessions: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for execution in &self.executions {
            if !execution.decision().starts_with("moved") {
                continue;
            }
            let edge = (whence(execution), execution.group.to_string());
            sessions.entry(session(execution)).or_default().push(edge);
        }
        sessions
    }

    /// No request that began after `since` at a gateway was served by that group.
    pub(crate) fn assert_nobody_in(&self, group: &str, via: SocketAddr, since: u64) {
        let late = self.entries.iter().find(|entry| {
            entry.via == via && entry.sent > since && entry.group.as_deref() == Some(group)
        });
        assert!(late.is_none(), "served by {group}: {late:?}");
    }

    /// How many answers that group gave at a gateway to requests that began after `since`.
    pub(crate) fn answers_of(&self, group: &str, via: SocketAddr, since: u64) -> usize {
        let late = self.entries.iter().filter(|entry| {
            entry.via == via && entry.sent > since && entry.group.as_deref() == Some(group)
        });
        late.count()
    }

    /// No session moved more than `most` times, counted over the requests that it sent after it held
    /// a moved pin, and none went back to where it had left. Answers how many moved.
    pub(crate) fn assert_at_most(&self, most: usize) -> usize {
        let mut sessions: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
        for entry in &self.entries {
            sessions
                .entry(session(self.execution(entry)))
                .or_default()
                .push(entry);
        }
        let mut moved = 0;
        for (session, mut entries) in sessions {
            entries.sort_by_key(|entry| entry.sent);
            let (mut moves, mut held) = (0, 0);
            let mut left: BTreeSet<String> = BTreeSet::new();
            for entry in entries {
                let execution = self.execution(entry);
                assert!(
                    !left.contains(&*execution.group) || entry.sent < held,
                    "{session} went back: {entry:?}"
                );
                if execution.decision().starts_with("moved") && entry.sent >= held {
                    moves += 1;
                    held = entry.answered;
                    left.insert(whence(execution));
                }
            }
            assert!(moves <= most, "{session} moved {moves} times");
            moved += usize::from(moves > 0);
        }
        moved
    }

    /// No session took an edge and then, decided later, its reverse.
    pub(crate) fn assert_no_reversed_edge(&self) {
        for (session, edges) in self.edges() {
            let mut taken = BTreeSet::new();
            for (from, to) in edges {
                assert!(
                    !taken.contains(&(to.clone(), from.clone())),
                    "{session} was led back from {from} to {to}"
                );
                taken.insert((from, to));
            }
        }
    }

    /// How often each decision was made.
    pub(crate) fn decisions(&self) -> BTreeMap<&str, usize> {
        let mut decisions = BTreeMap::new();
        for execution in &self.executions {
            *decisions.entry(execution.decision()).or_default() += 1;
        }
        decisions
    }
}

fn session(execution: &Execution) -> String {
    text(
        execution
            .field("affinity-session")
            .expect("it has a session"),
    )
}

/// The group that a moved session left.
fn whence(execution: &Execution) -> String {
    let told = text(
        execution
            .field("affinity-moved-from")
            .expect("a move tells whence"),
    );
    told.split(';').next().unwrap_or_default().to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
