//! The first stage: text becomes a tree of values that know where they stand.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use super::error::ConfigError;

/// A parsed file, before anybody asked what its keys mean.
pub(super) struct Document<'t> {
    pub(super) root: Spanned<DeTable<'t>>,
    pub(super) source: Source<'t>,
}

impl<'t> Document<'t> {
    /// Parses TOML 1.0; duplicate keys and tables are refused here.
    pub(super) fn parse(text: &'t str) -> Result<Self, ConfigError> {
        if text.len() > MAX_BYTES {
            let message = format!(
                "the file has {} bytes; at most {MAX_BYTES} are read",
                text.len()
            );
            return Err(ConfigError::new(message).at(Some(1)));
        }
        let source = Source::new(text);
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { root, source }),
            Err(error) => {
                let span = error.span().unwrap_or_default();
                let problem = ConfigError::new(format!("not valid TOML: {}", error.message()));
                let problem = problem.at(Some(source.line(span.start)));
                // other places are not quoted: what stands there may be a part of a secret
                Err(match error.message() {
                    "duplicate key" => problem.key(source.written(span)),
                    _ => problem,
                })
            }
        }
    }
}

/// The text with an index of its lines.
pub(super) struct Source<'t> {
    text: &'t str,
    line_ends: Vec<usize>,
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            line_ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        }
    }

    /// The line of a byte offset, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        1 + self.line_ends.partition_point(|&end| end < offset)
    }

    /// What was written there.
    pub(super) fn written(&self, span: Range<usize>) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }
}

/// Far above any configuration (10,000 endpoints are about 250 KB), far below what could hurt.
pub(super) const MAX_BYTES: usize = 1 << 20;
