//! The connections of a load.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::answer::Reading;
use super::{Client, Load, Outcome};
use crate::poll::{self, Poll};

/// Sends a load, and calls `begun` when measuring begins.
pub(crate) fn run(
    load: &Load,
    to: SocketAddr,
    clients: &[Client],
    mut begun: impl FnMut(),
) -> Outcome {
    let mut sender = Sender::new(load, to, clients);
    sender.go_on(load.warm);
    sender.outcome = Outcome::default();
    begun();
    let start = Instant::now();
    sender.go_on(load.span);
    let mut outcome = sender.outcome;
    outcome.took = start.elapsed();
    outcome.latencies.sort_unstable();
    outcome
}

struct Sender<'a> {
    load: &'a Load,
    to: SocketAddr,
    clients: &'a [Client],
    requests: Vec<Vec<u8>>,
    poll: Poll,
    connections: Vec<Connection>,
    /// Which client asks next, and from where the next connection comes.
    next: usize,
    source: u8,
    /// Where requests have a rate: when they are due, and who could send them.
    due: Instant,
    waiting: VecDeque<Instant>,
    idle: VecDeque<usize>,
    chunk: Vec<u8>,
    outcome: Outcome,
}

struct Connection {
    stream: Option<TcpStream>,
    reading: Reading,
    /// The client whose request is under way, and since when.
    asks: Option<(usize, Instant)>,
    /// Whether that request is still to be sent.
    unsent: bool,
}

impl<'a> Sender<'a> {
    fn new(load: &'a Load, to: SocketAddr, clients: &'a [Client]) -> Self {
        let connection = || Connection {
            stream: None,
            reading: Reading::default(),
            asks: None,
            unsent: false,
        };
        let mut sender = Self {
            load,
            to,
            clients,
            requests: clients
                .iter()
                .map(|client| client.request(to, load))
                .collect(),
            poll: Poll::new(),
            connections: (0..load.connections).map(|_| connection()).collect(),
            next: 0,
            source: 1,
            due: Instant::now(),
            waiting: VecDeque::new(),
            idle: VecDeque::new(),
            chunk: vec![0; 262_144],
            outcome: Outcome::default(),
        };
        (0..load.connections).for_each(|at| sender.open(at));
        sender
    }

    fn go_on(&mut self, span: Duration) {
        let end = Instant::now() + span;
        loop {
            let now = Instant::now();
            let mut left = end.saturating_duration_since(now);
            if left.is_zero() {
                return;
            }
            if let Some(rate) = self.load.rate {
                self.send_what_is_due(now, rate);
                left = left.min(self.due.saturating_duration_since(now));
            }
            for name in self.poll.wait(Some(left)) {
                self.look_at(usize::try_from(name).expect("a small number"));
            }
        }
    }

    fn send_what_is_due(&mut self, now: Instant, rate: u32) {
        while self.due <= now {
            self.waiting.push_back(self.due);
            self.due += Duration::from_secs(1) / rate;
        }
        while let Some(due) = self.waiting.front().copied() {
            let Some(at) = self.idle.pop_front() else {
                return;
            };
            // one that was opened anew is there twice
            if self.connections[at].asks.is_none() {
                self.waiting.pop_front();
                self.ask(at, due);
            }
        }
    }

    /// Opens a connection; as soon as it is there, something is asked on it.
    fn open(&mut self, at: usize) {
        self.source = self.source % 60 + 1;
        let stream = poll::connect(self.to, self.source);
        let stream = stream.unwrap_or_else(|e| panic!("no connection to {}: {e}", self.to));
        self.poll.watch(&stream, at as u64);
        let connection = &mut self.connections[at];
        connection.reading.clear();
        connection.asks = None;
        connection.stream = Some(stream);
        self.ready(at, Instant::now());
    }

    /// Goes on with a connection on which nothing is asked.
    fn ready(&mut self, at: usize, now: Instant) {
        if self.load.rate.is_some() {
            self.idle.push_back(at);
        } else {
            self.ask(at, now);
        }
    }

    /// Sends the next client's request, which counts from `since`.
    fn ask(&mut self, at: usize, since: Instant) {
        let client = self.next;
        self.next = (client + 1) % self.clients.len();
        let connection = &mut self.connections[at];
        connection.asks = Some((client, since));
        connection.unsent = true;
        connection.send(&self.requests[client]);
    }

    /// Reads what has come on a connection.
    fn look_at(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        let (Some(stream), asks) = (&mut connection.stream, connection.asks) else {
            return;
        };
        let read = match stream.read(&mut self.chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if let Some((client, _)) = asks {
                    connection.send(&self.requests[client]);
                }
                return;
            }
            Err(_) => 0,
        };
        let Some((client, since)) = asks.filter(|_| read > 0) else {
            // what ends while nothing is asked may
            self.outcome.faults.broken += u64::from(asks.is_some() || read > 0);
            return self.open(at);
        };
        let Some(head) = connection.reading.take(&self.chunk[..read]) else {
            // there may be more than fits
            if read == self.chunk.len() {
                self.look_at(at);
            }
            return;
        };
        let now = Instant::now();
        connection.asks = None;
        self.outcome.answers += 1;
        self.outcome.latencies.push(now - since);
        self.outcome.faults.judge(head, &self.clients[client]);
        if self.load.closes || head.closes {
            self.open(at);
        } else {
            self.ready(at, now);
        }
    }
}

impl Connection {
    /// Sends a request unless that was done; as long as the connection is not there, later.
    fn send(&mut self, request: &[u8]) {
        if let (true, Some(stream)) = (self.unsent, &mut self.stream) {
            // a request is short enough for any buffer; what fails shows when the answer is read
            self.unsent = !matches!(stream.write(request), Ok(sent) if sent == request.len());
        }
    }
}
