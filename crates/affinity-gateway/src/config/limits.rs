//! The limits of `[listen]`.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::section::Section;
use super::span::Bounds;
use crate::serve::Limits;

pub(super) fn read(listen: &Section<'_>) -> Limits {
    let span = |name, default: Duration| {
        let read = listen
            .field(name)
            .and_then(|field| field.duration(&TIMEOUT));
        read.unwrap_or(default)
    };
    let number = |name, range: &RangeInclusive<u64>| {
        listen.field(name).and_then(|field| field.integer(range))
    };
    let size = |name, range, default: usize| {
        let read = number(name, range).and_then(|n| usize::try_from(n).ok());
        read.unwrap_or(default)
    };
    let http2 = listen.field("http2").and_then(|field| field.flag());
    let default = Limits::default();
    let streams = number("max_streams", &STREAMS).and_then(|n| u32::try_from(n).ok());
    Limits {
        http2: http2.unwrap_or(default.http2),
        header_timeout: span("header_timeout", default.header_timeout),
        keep_alive: span("keep_alive", default.keep_alive),
        body_timeout: span("body_timeout", default.body_timeout),
        max_connections: size("max_connections", &CONNECTIONS, default.max_connections),
        max_requests: size("max_requests", &REQUESTS, default.max_requests),
        max_streams: streams.unwrap_or(default.max_streams),
        max_headers: size("max_headers", &FIELDS, default.max_headers),
        max_header_bytes: size("max_header_bytes", &HEAD, default.max_header_bytes),
        max_body: number("max_body", &BODY).unwrap_or(default.max_body),
    }
}

/// Shorter ones would close clients that are only far away.
const TIMEOUT: Bounds = Bounds::millis(100, 3_600_000);
/// As many as a process can have files.
const CONNECTIONS: RangeInclusive<u64> = 1..=1_048_576;
/// A hundred for each place of a connection.
const REQUESTS: RangeInclusive<u64> = 1..=104_857_600;
const STREAMS: RangeInclusive<u64> = 1..=10_000;
const FIELDS: RangeInclusive<u64> = 1..=10_000;
/// hyper's least, and what a request may hold in memory before anything is known of it.
const HEAD: RangeInclusive<u64> = 8_192..=1_048_576;
/// Up to a tebibyte.
pub(super) const BODY: RangeInclusive<u64> = 0..=1_099_511_627_776;
