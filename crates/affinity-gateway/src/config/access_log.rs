//! `[access_log]`: where a line for each request goes.

use std::path::PathBuf;

use super::Sources;
use super::section::Section;
use crate::access::AccessFormat;

/// The access log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessLogSettings {
    /// The file, as an absolute path; `/dev/stdout` and `/dev/stderr` are the process' own.
    pub path: PathBuf,
    /// The form of a line.
    pub format: AccessFormat,
}

pub(super) const FORMATS: [(&str, AccessFormat); 2] =
    [("json", AccessFormat::Json), ("text", AccessFormat::Text)];

pub(super) fn read(root: &Section<'_>, sources: &Sources<'_>) -> Option<AccessLogSettings> {
    let log = root.field("access_log")?.section();
    let path = log.required("path", "the path of a file, such as \"/dev/stdout\"");
    let path = path.and_then(|field| sources.field_path(&field));
    let format = log.field("format");
    let format = match format {
        Some(field) => field.word(&FORMATS)?,
        None => AccessFormat::Json,
    };
    log.finish();
    Some(AccessLogSettings {
        path: path?,
        format,
    })
}
