//! The clients' ledger, and what it says together with that of the endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use http::StatusCode;

use crate::fleet::Ledger;

/// One answer as its client saw it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Which client.
    pub client: u64,
    /// The request's id.
    pub request: u64,
    /// Which gateway answered.
    pub via: SocketAddr,
    /// When it was sent, counted in events of the whole history.
    pub sent: u64,
    /// When it was answered.
    pub answered: u64,
    /// The status.
    pub status: StatusCode,
    /// The group that answered; `None` if the gateway did.
    pub group: Option<String>,
    /// Whether the answer set or cleared a cookie.
    pub set_cookie: bool,
}

/// The answers to all clients of one story.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    moment: AtomicU64,
    requests: AtomicU64,
    entries: Mutex<Vec<Entry>>,
}

impl History {
    /// The next moment: greater than all before.
    #[must_use]
    pub fn moment(&self) -> u64 {
        self.0.moment.fetch_add(1, Ordering::SeqCst)
    }

    /// A request's id: from 1, never twice.
    pub(crate) fn request(&self) -> u64 {
        self.0.requests.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn enter(&self, entry: Entry) {
        self.0.entries.lock().unwrap().push(entry);
    }

    /// All answers.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.0.entries.lock().unwrap().clone()
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.entries.lock().unwrap().len()
    }

    /// Whether nobody was answered yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The answers of each client, in the order in which they were sent.
    #[must_use]
    pub fn by_client(&self) -> BTreeMap<u64, Vec<Entry>> {
        let mut clients: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
        for entry in self.entries() {
            clients.entry(entry.client).or_default().push(entry);
        }
        for entries in clients.values_mut() {
            entries.sort_by_key(|entry| entry.sent);
        }
        clients
    }

    /// Joins both ledgers: every answer of a group was executed exactly once, by that group; what
    /// the gateway answered itself, never; and nothing was executed that nobody was answered.
    ///
    /// # Panics
    ///
    /// If the ledgers do not balance.
    pub fn balances(&self, ledger: &Ledger) {
        self.balances_but(ledger, 0);
    }

    /// As [`History::balances`], where endpoints answered `lost` requests whose answers their
    /// clients never saw, since an endpoint or a client cut a connection.
    ///
    /// # Panics
    ///
    /// If the ledgers do not balance.
    pub fn balances_but(&self, ledger: &Ledger, lost: usize) {
        let mut executed: BTreeMap<u64, Vec<Arc<str>>> = BTreeMap::new();
        for execution in ledger.entries() {
            executed
                .entry(execution.request)
                .or_default()
                .push(execution.group);
        }
        let entries = self.entries();
        assert!(!entries.is_empty(), "there is nothing to balance");
        let (mut answered, mut faults) = (BTreeSet::new(), 0);
        for entry in &entries {
            let id = entry.request;
            assert!(answered.insert(id), "request {id} was answered twice");
            let groups = executed.remove(&id).unwrap_or_default();
            let groups: Vec<&str> = groups.iter().map(|group| &**group).collect();
            if entry.status == StatusCode::BAD_GATEWAY && entry.group.is_none() {
                assert_eq!(groups.len(), 1, "a fault was retried: {entry:?}");
                faults += 1;
                continue;
            }
            let expected: Vec<&str> = entry.group.as_deref().into_iter().collect();
            assert_eq!(
                groups, expected,
                "who executed it, and who should have: {entry:?}"
            );
        }
        let unanswered = executed.values().map(Vec::len).sum::<usize>();
        assert_eq!(
            faults + unanswered,
            lost,
            "executed without an answer: {executed:?}"
        );
    }
}
