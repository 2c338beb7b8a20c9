//! Which bytes of an HTTP/1.1 connection are a request, and that there is only one way to tell.
//!
//! hyper reads a request that has a `Content-Length` beside `Transfer-Encoding` by its chunks and
//! hides the length, ends lines at a bare LF, and passes on codings that it cannot decode. Another
//! server in front may read such bytes as other requests (request smuggling). So nothing of a head
//! reaches hyper before it is whole and means one thing only; what does not is refused with the
//! status that [`Fault::status`] names, and the connection ends.
//!
//! ```text
//! socket ──> Framed ──> hyper        Watch: head ──> body (none, n bytes, chunks) ──> head …
//!              └─ Watch says how many bytes are good
//! ```
//!
//! HTTP/2 and what follows a `101` pass untouched.

mod chunks;
mod fault;
mod gate;
mod head;
mod interim;
mod stream;
mod watch;

#[cfg(test)]
mod tests;

pub(super) use self::fault::Fault;
pub(super) use self::gate::Gate;
pub(super) use self::head::Heads;
pub(crate) use self::interim::Interim;
pub(super) use self::interim::{Ahead, Way};
pub(super) use self::stream::{Framed, Language};
