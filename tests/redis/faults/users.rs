//! Users who ask one after the other, and what their histories say.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use affinity_tests::client::Client;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use http::Request;
use http_body_util::Full;

use super::stage::USER;

/// One user.
pub(crate) struct User {
    number: u64,
    client: Client,
    has_id: bool,
    keeps: bool,
}

/// What a user shows.
#[derive(Clone, Copy)]
pub(crate) enum Shows {
    Cookies,
    Id,
    Both,
}

/// That many users, from `first` on.
pub(crate) fn users(first: u64, count: u64, shows: Shows, history: &History) -> Vec<User> {
    let user = |number| User {
        number,
        client: Client::new(number, history),
        has_id: !matches!(shows, Shows::Cookies),
        keeps: !matches!(shows, Shows::Id),
    };
    (first..first + count).map(user).collect()
}

impl User {
    pub(crate) async fn ask(&mut self, to: SocketAddr) {
        let mut request = Request::get("/step");
        if self.has_id {
            request = request.header(USER, format!("user-{}", self.number));
        }
        let request = request.body(Full::default()).unwrap();
        if self.keeps {
            self.client.send(to, request).await;
        } else {
            self.client.exchange(to, request).await.unwrap();
        }
    }
}

/// Each of them asks once.
pub(crate) async fn all_ask(users: &mut [User], to: SocketAddr) {
    for user in users {
        user.ask(to).await;
    }
}

/// The groups that served each user, in order.
pub(crate) struct Paths(BTreeMap<u64, Vec<Step>>);

struct Step {
    group: String,
    /// Whether the gateway could not ask its store about somebody without a pin.
    is_blind: bool,
}

impl Paths {
    /// Joins both ledgers: they balance, and nobody was refused or served by a group that was not
    /// meant.
    pub(crate) fn of(history: &History, fleet: &Fleet) -> Self {
        history.balances(fleet.ledger());
        let executions = fleet.ledger().entries();
        let by_request: BTreeMap<_, _> = executions.iter().map(|e| (e.request, e)).collect();
        let paths = history.by_client().into_iter().map(|(user, entries)| {
            let steps = entries.into_iter().map(|entry| {
                assert_eq!(entry.status, 200, "{entry:?}");
                let execution = by_request[&entry.request];
                let named = execution.field("affinity-group");
                assert_eq!(named, Some(execution.group.as_bytes()), "{execution:?}");
                Step {
                    group: execution.group.to_string(),
                    is_blind: execution.decision().ends_with("store_unavailable"),
                }
            });
            (user, steps.collect())
        });
        Self(paths.collect())
    }

    /// How often these users changed their group, answers without the store aside. Fails if one
    /// of them came back to a group that it had left.
    pub(crate) fn moves(&self, users: &[User]) -> usize {
        users.iter().map(|user| self.moves_of(user.number)).sum()
    }

    fn moves_of(&self, user: u64) -> usize {
        let steps = self.0[&user].iter().filter(|step| !step.is_blind);
        let mut path: Vec<&str> = steps.map(|step| &*step.group).collect();
        path.dedup();
        let returned = (0..path.len()).any(|at| path[..at].contains(&path[at]));
        assert!(!returned, "user {user} was led back: {path:?}");
        path.len() - 1
    }

    /// How many answers were given without the store.
    pub(crate) fn blind(&self, users: &[User]) -> usize {
        let steps = users.iter().flat_map(|user| &self.0[&user.number]);
        steps.filter(|step| step.is_blind).count()
    }
}
