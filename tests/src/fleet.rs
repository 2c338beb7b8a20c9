//! Groups of endpoints with one ledger.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::TcpSocket;
use tokio::sync::watch;

use crate::endpoint::{Endpoint, Execution, Here};
use crate::until;

/// Everything that reached the endpoints of a fleet, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<Vec<Execution>>>);

impl Ledger {
    pub(crate) fn enter(&self, execution: Execution) {
        self.0.lock().unwrap().push(execution);
    }

    /// A copy of all entries.
    #[must_use]
    pub fn entries(&self) -> Vec<Execution> {
        self.0.lock().unwrap().clone()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Whether nothing has arrived yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The only entry of a request.
    ///
    /// # Panics
    ///
    /// If it was not executed exactly once.
    #[must_use]
    pub fn of(&self, request: u64) -> Execution {
        let entries = self.0.lock().unwrap();
        let mut found = entries.iter().filter(|entry| entry.request == request);
        let entry = found
            .next()
            .unwrap_or_else(|| panic!("request {request} reached nobody"));
        assert!(
            found.next().is_none(),
            "request {request} was executed twice"
        );
        entry.clone()
    }

    /// Waits until a request to a path has arrived, whatever its id.
    pub async fn arrival(&self, target: &str) -> Execution {
        until(&format!("the arrival of {target}"), async || {
            let entries = self.0.lock().unwrap();
            entries
                .iter()
                .rev()
                .find(|entry| entry.target == target)
                .cloned()
        })
        .await
    }
}

/// Running endpoints by group.
#[derive(Debug)]
pub struct Fleet {
    groups: BTreeMap<String, Vec<Endpoint>>,
    /// Holds the addresses of all endpoints, also of those that have ended: another test that runs
    /// at the same time would be given one, and asked in the place of who is dead.
    addresses: Vec<TcpSocket>,
    ledger: Ledger,
    release: watch::Sender<bool>,
}

impl Fleet {
    /// Starts `each` endpoints for every group.
    pub async fn start(groups: &[&str], each: usize) -> Self {
        let mut fleet = Self {
            groups: BTreeMap::new(),
            addresses: Vec::new(),
            ledger: Ledger::default(),
            release: watch::Sender::new(false),
        };
        for group in groups {
            for _ in 0..each {
                fleet.add(group).await;
            }
        }
        fleet
    }

    /// Starts one more endpoint of a group.
    pub async fn add(&mut self, group: &str) -> SocketAddr {
        let endpoints = self.groups.entry(group.to_owned()).or_default();
        let here = Here {
            group: group.into(),
            endpoint: format!("{group}-{}", endpoints.len() + 1).into(),
            ledger: self.ledger.clone(),
            released: self.release.subscribe(),
        };
        let held = hold_address().expect("there are addresses");
        let address = held.local_addr().expect("it has one");
        self.addresses.push(held);
        endpoints.push(Endpoint::start(address, here).await);
        address
    }

    /// Where a group's endpoints are.
    ///
    /// # Panics
    ///
    /// If there is no such group.
    #[must_use]
    pub fn addresses(&self, group: &str) -> Vec<SocketAddr> {
        let endpoints = self.groups.get(group);
        let endpoints = endpoints.unwrap_or_else(|| panic!("the fleet has no group {group}"));
        endpoints.iter().map(Endpoint::address).collect()
    }

    /// Ends one endpoint of a group.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn end(&mut self, group: &str, at: usize) {
        let endpoints = self.groups.get_mut(group).expect("the fleet has the group");
        drop(endpoints.remove(at));
    }

    /// Ends all endpoints of a group.
    pub fn kill(&mut self, group: &str) {
        self.groups.insert(group.to_owned(), Vec::new());
    }

    /// Lets everything that is held go on, now and later.
    pub fn release(&self) {
        self.release.send_replace(true);
    }

    /// What reached the endpoints.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// A socket that keeps an address from being given to somebody else, and never listens on it: who
/// connects is refused, unless another socket does.
fn hold_address() -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    Ok(socket)
}
