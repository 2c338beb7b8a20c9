//! The access log, one line for each request, and the span that a trace of it begins with.
//!
//! The outermost layer of the path: what any of the others answers is in the log too. A line is
//! written when the request has ended, so a stream's or a tunnel's comes late. It holds no token, no
//! session's id, no query and no client's address.
//!
//! With the log or with tracing on, each request is part of a trace (W3C Trace Context): of the one
//! that it names, else of one that begins here; and what its endpoint gets names the gateway as the
//! parent. Otherwise these headers pass as they are.

mod context;
mod file;
mod future;
mod layer;
mod line;
mod service;
#[cfg(test)]
mod tests;

#[cfg_attr(
    not(feature = "otel"),
    expect(unused_imports, reason = "traces need it")
)]
pub(crate) use self::context::TraceContext;
pub(crate) use self::file::AccessLog;
pub(crate) use self::future::ResponseFuture;
pub(crate) use self::layer::AccessLayer;
pub(crate) use self::service::Access;

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessFormat {
    /// One JSON object.
    Json,
    /// For people: the time, the request, the status, and the rest as `name=value`.
    Text,
}
