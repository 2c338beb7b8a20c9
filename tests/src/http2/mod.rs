//! HTTP/2 by hand: any frame that can be written, and the frames that come back.
//!
//! Nothing here keeps the rules of the protocol: that a peer sends what no client library would is
//! the point.

mod connection;
mod frame;
mod hpack;

pub use self::connection::{Connection, PREFACE};
pub use self::frame::{Frame, code, flag, frame, kind, request};
pub use self::hpack::{Field, block, indexed, integer, literal, resize, status, text};
