//! One line of the access log.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use http::{Request, Version};
use serde::Serialize;
use tokio::time::Instant;
use tower_affinity::core::{Cause, Cohort, Kind, Timestamp};
use tower_affinity::record::Summary;

use super::AccessFormat;
use super::context::{TraceContext, TraceId};

/// The longest part of a path that is logged, in bytes.
const MAX_PATH: usize = 1_024;

/// The longest part of a method.
const MAX_METHOD: usize = 32;

/// What is known when the request arrives.
#[derive(Debug)]
pub(super) struct Entry {
    at: Timestamp,
    began: Instant,
    method: String,
    path: String,
    version: Version,
    trace: u128,
}

/// A line, field by field. Of what the client sent it has the method and the path, without its
/// query.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    trace_id: String,
    method: &'a str,
    path: &'a str,
    protocol: &'a str,
    status: Option<u16>,
    code_class: &'a str,
    duration_ms: f64,
    body_bytes: u64,
    group: &'a str,
    decision: &'a str,
    cause: &'a str,
    cohort: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    attempts: u32,
}

impl Entry {
    pub(super) fn new<B>(request: &Request<B>, context: TraceContext, at: Timestamp) -> Self {
        let path = request.uri().path();
        let end = (0..=MAX_PATH.min(path.len()))
            .rev()
            .find(|end| path.is_char_boundary(*end));
        Self {
            at,
            began: Instant::now(),
            method: request.method().as_str().chars().take(MAX_METHOD).collect(),
            path: plain(path.get(..end.unwrap_or(0)).unwrap_or_default()),
            version: request.version(),
            trace: context.trace,
        }
    }

    /// The line of a request that has ended, with its line feed.
    pub(super) fn line(&self, summary: &Summary, format: AccessFormat) -> Vec<u8> {
        let line = self.fields(summary);
        match format {
            AccessFormat::Json => {
                let mut json = serde_json::to_vec(&line).unwrap_or_default();
                json.push(b'\n');
                json
            }
            AccessFormat::Text => line.text().into_bytes(),
        }
    }

    fn fields<'a>(&'a self, summary: &'a Summary) -> Line<'a> {
        let decision = summary
            .affinity
            .as_ref()
            .map(|affinity| affinity.decision());
        let [kind, cause, cohort] = decision.map_or(
            [
                Kind::Refused.as_str(),
                Cause::Early.as_str(),
                Cohort::None.as_str(),
            ],
            |decision| {
                let words = (decision.kind, decision.cause, decision.cohort);
                [words.0.as_str(), words.1.as_str(), words.2.as_str()]
            },
        );
        let moved = summary
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.moved_from());
        let took = self.began.elapsed();
        Line {
            time: rfc3339(self.at),
            trace_id: TraceId(self.trace).text(),
            method: &self.method,
            path: &self.path,
            protocol: protocol(self.version),
            status: summary.status.map(|status| status.as_u16()),
            // who did not wait is not counted by who answers before anything is
            code_class: summary.code_class.unwrap_or("client_abort"),
            duration_ms: (took.as_secs_f64() * 1e6).round() / 1e3,
            body_bytes: summary.body_bytes,
            group: decision.map_or("none", |decision| decision.group_label()),
            decision: kind,
            cause,
            cohort,
            moved_from: moved.map(|moved| moved.from.label()),
            endpoint: summary.endpoint.map(|endpoint| endpoint.to_string()),
            attempts: summary.attempts,
        }
    }
}

impl Line<'_> {
    fn text(&self) -> String {
        let mut text = String::with_capacity(256);
        let status = self
            .status
            .map_or("-".to_owned(), |status| status.to_string());
        // a String takes everything
        let _full = write!(
            text,
            "{} {} {} {status} {}ms group={} decision={} cause={} cohort={}",
            self.time,
            self.method,
            self.path,
            self.duration_ms,
            self.group,
            self.decision,
            self.cause,
            self.cohort,
        );
        let _full = write!(text, " end={} bytes={}", self.code_class, self.body_bytes);
        if let Some(from) = self.moved_from {
            let _full = write!(text, " moved_from={from}");
        }
        if let Some(endpoint) = &self.endpoint {
            let _full = write!(text, " endpoint={endpoint} attempts={}", self.attempts);
        }
        let _full = writeln!(text, " trace={} {}", self.trace_id, self.protocol);
        text
    }
}

/// The path as URLs have it: what is not ASCII could steer a terminal or be read as the end of a line.
fn plain(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_graphic() {
            plain.push(char::from(byte));
        } else {
            // a String takes everything
            let _full = write!(plain, "%{byte:02X}");
        }
    }
    plain
}

fn rfc3339(at: Timestamp) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(at.as_millis());
    humantime::format_rfc3339_millis(time).to_string()
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_2 => "HTTP/2",
        Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}
