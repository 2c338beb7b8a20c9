//! Follows the requests of one connection through its bytes.

use super::chunks::Chunks;
use super::fault::Fault;
use super::head::{self, Body, Heads};

/// Where in its requests a connection is. Bytes go in, in order and each once; what comes out is how
/// many of them are good.
#[derive(Debug)]
pub(super) struct Watch {
    at: At,
    limits: Heads,
    /// How many heads were good.
    heads: u64,
    /// Whether the last of them asks for another protocol.
    switches: bool,
}

#[derive(Debug)]
enum At {
    Head,
    Length(u64),
    Chunks(Chunks),
    /// After a request that asks for another protocol, until its answer is known.
    Asked,
    /// Nothing more is looked at: HTTP/2, or a tunnel.
    Through,
}

/// What is known of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// So many are good; the rest is the beginning of a head.
    Good(usize),
    /// So many are good; the head after them is not.
    Bad(usize, Fault),
    /// So many are good; the rest waits for the answer.
    Wait(usize),
    /// So many are good, and then the body itself is broken: no answer can follow it.
    Broken(usize),
}

impl Watch {
    pub(super) fn new(limits: Heads) -> Self {
        Self {
            at: At::Head,
            limits,
            heads: 0,
            switches: false,
        }
    }

    /// How many heads were good so far.
    pub(super) fn heads(&self) -> u64 {
        self.heads
    }

    /// Whether everything passes.
    pub(super) fn is_through(&self) -> bool {
        matches!(self.at, At::Through)
    }

    /// Whether the next byte begins a head, or goes on with one.
    pub(super) fn is_at_head(&self) -> bool {
        matches!(self.at, At::Head)
    }

    /// Whether `bytes`, the first of the connection, may yet be the preface of HTTP/2.
    pub(super) fn may_be_http_2(&self, bytes: &[u8]) -> bool {
        self.limits.http2 && self.heads == 0 && (bytes.is_empty() || is_http_2(bytes))
    }

    /// Whether a body has begun and not ended.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.at, At::Length(_) | At::Chunks(_))
    }

    /// Whether the answer to the last request decides what follows it.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.at, At::Asked)
    }

    /// The most bytes of a head.
    pub(super) fn most(&self) -> usize {
        self.limits.bytes
    }

    /// Lets everything pass from now on.
    pub(super) fn pass_through(&mut self) {
        self.at = At::Through;
    }

    /// The answer to the last request was an ordinary one.
    pub(super) fn answered(&mut self) {
        if matches!(self.at, At::Asked) {
            self.at = At::Head;
        }
    }

    fn after_body(&self) -> At {
        if self.switches { At::Asked } else { At::Head }
    }

    /// Looks at what comes next. A part of a head is not taken; it comes again with more.
    pub(super) fn see(&mut self, bytes: &[u8]) -> Seen {
        let mut good = 0;
        loop {
            let rest = bytes.get(good..).unwrap_or_default();
            match &mut self.at {
                At::Through => return Seen::Good(bytes.len()),
                At::Asked => return Seen::Wait(good),
                _ if rest.is_empty() => return Seen::Good(good),
                At::Head => {
                    if self.limits.http2 && self.heads == 0 && is_http_2(rest) {
                        if rest.len() >= PREFACE.len() {
                            self.at = At::Through;
                            continue;
                        }
                        // httparse takes the beginning of it for a head that is not whole
                        return Seen::Good(good);
                    }
                    match head::read(rest, self.limits) {
                        Ok(None) => return Seen::Good(good),
                        Err(fault) => return Seen::Bad(good, fault),
                        Ok(Some(head)) => {
                            good += head.length;
                            self.heads += 1;
                            self.switches = head.switches;
                            self.at = match head.body {
                                Body::Length(0) => self.after_body(),
                                Body::Length(length) => At::Length(length),
                                Body::Chunks => At::Chunks(Chunks::BEGIN),
                            };
                        }
                    }
                }
                At::Length(left) => {
                    let part = u64::try_from(rest.len()).unwrap_or(u64::MAX).min(*left);
                    *left -= part;
                    good += usize::try_from(part).unwrap_or(rest.len());
                    if *left == 0 {
                        self.at = self.after_body();
                    }
                }
                At::Chunks(chunks) => {
                    good += chunks.take(rest, self.limits.bytes);
                    match chunks {
                        Chunks::Done => self.at = self.after_body(),
                        Chunks::Broken => return Seen::Broken(good),
                        _ => {}
                    }
                }
            }
        }
    }
}

fn is_http_2(bytes: &[u8]) -> bool {
    let both = bytes.iter().zip(PREFACE);
    !bytes.is_empty() && both.clone().all(|(one, other)| one == other)
}

/// RFC 9113, section 3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
