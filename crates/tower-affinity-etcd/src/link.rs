//! [`Link`]: the way to one of the endpoints, left when it fails.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{Client, Error};
use tokio::time::{Instant, timeout_at};
use tower_affinity_core::EngineError;

use crate::options::EtcdOptions;

pub(crate) struct Link {
    endpoints: Vec<String>,
    options: EtcdOptions,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    /// Counts up with every connection that is left; says which endpoint it is the turn of.
    turn: usize,
    client: Option<Client>,
}

impl Link {
    pub(crate) fn new(endpoints: Vec<String>, options: EtcdOptions) -> Self {
        Self {
            endpoints,
            options,
            current: Mutex::default(),
        }
    }

    /// How long a call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.options.timeout()
    }

    /// Asks one endpoint.
    pub(crate) async fn once<T, F>(&self, ask: impl Fn(Client) -> F) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        Ok(self.up_to(1, ask).await?.0)
    }

    /// Asks one endpoint after the other until one answers.
    pub(crate) async fn any<T, F>(&self, ask: impl Fn(Client) -> F) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        Ok(self.any_on(ask).await?.0)
    }

    /// As [`any`](Self::any), and says on which turn it was answered.
    pub(crate) async fn any_on<T, F>(
        &self,
        ask: impl Fn(Client) -> F,
    ) -> Result<(T, usize), EngineError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.up_to(self.endpoints.len(), ask).await
    }

    async fn up_to<T, F>(
        &self,
        tries: usize,
        ask: impl Fn(Client) -> F,
    ) -> Result<(T, usize), EngineError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let ends = Instant::now() + self.timeout();
        let mut tried = 0;
        loop {
            let turn = self.current().turn;
            let answer = timeout_at(ends, async { ask(self.client(turn).await?).await }).await;
            tried += 1;
            match answer {
                Ok(Ok(answer)) => return Ok((answer, turn)),
                Ok(Err(error)) => {
                    self.leave(turn);
                    if tried >= tries {
                        return Err(EngineError::new(error));
                    }
                }
                Err(late) => {
                    self.leave(turn);
                    return Err(EngineError::new(late));
                }
            }
        }
    }

    /// The next call takes a new connection to the next endpoint, unless another one has already
    /// seen to that since `turn`.
    pub(crate) fn leave(&self, turn: usize) {
        let mut current = self.current();
        if current.turn == turn {
            current.turn = turn.wrapping_add(1);
            current.client = None;
        }
    }

    async fn client(&self, turn: usize) -> Result<Client, Error> {
        if let Some(client) = self.present(turn) {
            return Ok(client);
        }
        let at = turn % self.endpoints.len();
        let endpoint = self.endpoints.get(at..=at).unwrap_or_default();
        let client = Client::connect(endpoint, Some(self.options.connect())).await?;
        let mut current = self.current();
        if current.turn == turn {
            current.client = Some(client.clone());
        }
        Ok(client)
    }

    fn present(&self, turn: usize) -> Option<Client> {
        let current = self.current();
        current.client.clone().filter(|_| current.turn == turn)
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // nothing that holds the lock can fail half-way
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("endpoints", &self.endpoints)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
