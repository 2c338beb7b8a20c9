//! The endpoints: six on one thread, with answers that are made beforehand, so that they cost the
//! machine little beside what is measured.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use memchr::memmem;

use crate::poll::Poll;

/// The groups, of three endpoints each.
pub(crate) const GROUPS: [&str; 2] = ["blue", "green"];

pub(crate) const PER_GROUP: usize = 3;

/// What is asked for 64 KiB; all other paths have 1 KiB.
pub(crate) const LARGE: &str = "/64k";

/// Endpoints that serve until the process ends.
pub(crate) struct Pods {
    addresses: Vec<SocketAddr>,
    answered: Arc<[AtomicU64; 2]>,
}

impl Pods {
    pub(crate) fn start() -> Self {
        let listeners: Vec<TcpListener> = (0..GROUPS.len() * PER_GROUP).map(|_| listen()).collect();
        let addresses = listeners
            .iter()
            .map(|socket| socket.local_addr().expect("an address"));
        let pods = Self {
            addresses: addresses.collect(),
            answered: Arc::default(),
        };
        let answered = Arc::clone(&pods.answered);
        thread::spawn(move || Server::new(listeners, answered).serve());
        pods
    }

    /// Where a group's endpoints are.
    pub(crate) fn of(&self, group: usize) -> &[SocketAddr] {
        &self.addresses[group * PER_GROUP..][..PER_GROUP]
    }

    /// How many answers each group has given so far.
    pub(crate) fn answered(&self) -> [u64; 2] {
        [0, 1].map(|group: usize| self.answered[group].load(Ordering::Relaxed))
    }
}

fn listen() -> TcpListener {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.set_nonblocking(true).expect("a socket can be so");
    socket
}

struct Server {
    poll: Poll,
    listeners: Vec<TcpListener>,
    /// By name, behind those of the listeners.
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    answers: Vec<Answers>,
    answered: Arc<[AtomicU64; 2]>,
    chunk: Vec<u8>,
}

/// What an endpoint answers.
struct Answers {
    small: Arc<[u8]>,
    large: Arc<[u8]>,
}

struct Connection {
    stream: TcpStream,
    group: usize,
    /// What was read of heads.
    read: Vec<u8>,
    /// What is being written, and how much of it was.
    answer: Option<(Arc<[u8]>, usize)>,
}

impl Server {
    fn new(listeners: Vec<TcpListener>, answered: Arc<[AtomicU64; 2]>) -> Self {
        let poll = Poll::new();
        for (name, listener) in (0..).zip(&listeners) {
            poll.watch(listener, name);
        }
        Self {
            poll,
            connections: Vec::new(),
            free: Vec::new(),
            answers: GROUPS.iter().map(|group| Answers::of(group)).collect(),
            listeners,
            answered,
            chunk: vec![0; 65_536],
        }
    }

    fn serve(&mut self) {
        loop {
            for name in self.poll.wait(None) {
                let name = usize::try_from(name).expect("a small number");
                match name.checked_sub(self.listeners.len()) {
                    None => self.accept(name),
                    Some(at) => self.go_on(at),
                }
            }
        }
    }

    fn accept(&mut self, pod: usize) {
        while let Ok((stream, _)) = self.listeners[pod].accept() {
            stream.set_nonblocking(true).expect("a socket can be so");
            stream.set_nodelay(true).expect("a socket can be so");
            let at = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            self.poll.watch(&stream, (at + self.listeners.len()) as u64);
            let (group, read) = (pod / PER_GROUP, Vec::with_capacity(2_048));
            self.connections[at] = Some(Connection {
                stream,
                group,
                read,
                answer: None,
            });
        }
    }

    fn go_on(&mut self, at: usize) {
        let Some(connection) = &mut self.connections[at] else {
            return;
        };
        let answers = &self.answers[connection.group];
        let answered = &self.answered[connection.group];
        if !connection.go_on(answers, answered, &mut self.chunk) {
            self.connections[at] = None;
            self.free.push(at);
        }
    }
}

impl Answers {
    fn of(group: &str) -> Self {
        let [small, large] = [1_024, 65_536].map(|length| {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\
                 x-group: {group}\r\ncontent-length: {length}\r\n\r\n"
            );
            let mut answer = head.into_bytes();
            answer.resize(answer.len() + length, b'x');
            answer.into()
        });
        Self { small, large }
    }
}

impl Connection {
    /// Reads and writes what can be; `false` when the connection has ended.
    fn go_on(&mut self, answers: &Answers, answered: &AtomicU64, chunk: &mut [u8]) -> bool {
        loop {
            if let Some((answer, written)) = &mut self.answer {
                match self.stream.write(&answer[*written..]) {
                    Ok(more) => *written += more,
                    Err(error) => return would_block(&error),
                }
                if *written < answer.len() {
                    continue;
                }
                self.answer = None;
            }
            if let Some(end) = memmem::find(&self.read, b"\r\n\r\n") {
                let large = self.read[4..].starts_with(LARGE.as_bytes());
                let answer = if large {
                    &answers.large
                } else {
                    &answers.small
                };
                self.answer = Some((Arc::clone(answer), 0));
                self.read.drain(..end + 4);
                answered.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            match self.stream.read(chunk) {
                Ok(0) => return false,
                Ok(more) => self.read.extend_from_slice(&chunk[..more]),
                Err(error) => return would_block(&error),
            }
        }
    }
}

/// Whether a connection is only to be waited for.
fn would_block(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::WouldBlock
}
