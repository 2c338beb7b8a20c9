//! One message for one mistake: where it is, what was written, what is accepted.

use std::fmt;
use std::path::Path;

/// Why a configuration is refused.
///
/// Its `Display` form is one line, never longer than 1,000 characters, without control characters
/// and without secrets: `FILE:LINE: KEY = VALUE: what is accepted`. If several things are wrong it
/// is the first one in the file, followed by how many more there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: Option<String>,
    line: Option<usize>,
    key: Option<String>,
    value: Option<String>,
    message: String,
    more: usize,
}

impl ConfigError {
    /// A mistake described by `message`, which may quote what the input holds.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        let message = printable(&message.to_string(), MESSAGE);
        Self {
            file: None,
            line: None,
            key: None,
            value: None,
            message,
            more: 0,
        }
    }

    pub(super) fn at(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }

    pub(crate) fn key(mut self, key: &str) -> Self {
        self.key = Some(printable(key, KEY));
        self
    }

    pub(super) fn value(mut self, value: &str) -> Self {
        self.value = Some(printable(value, VALUE));
        self
    }

    pub(super) fn more(mut self, more: usize) -> Self {
        self.more = more;
        self
    }

    pub(crate) fn file(mut self, file: &Path) -> Self {
        self.file = Some(printable(&file.display().to_string(), FILE));
        self
    }

    /// The line in the file, from 1; `None` for something that is missing from the whole file.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The dotted key, such as `group[1].weight` (counted from 0); `None` if the file is not TOML.
    #[must_use]
    pub fn key_path(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The value as written, escaped and cut at 64 characters; `None` if it is missing or secret.
    #[must_use]
    pub fn shown_value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// What is wrong and what is accepted.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        match (&self.key, &self.value) {
            (Some(key), Some(value)) => write!(f, "{key} = {value}: ")?,
            (Some(key), None) => write!(f, "{key}: ")?,
            (None, _) => {}
        }
        f.write_str(&self.message)?;
        match self.more {
            0 => Ok(()),
            1 => f.write_str(" (1 more problem)"),
            n => write!(f, " ({n} more problems)"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// `text` with everything escaped that could break a line or confuse a terminal, cut to `max`
/// characters.
pub(super) fn printable(text: &str, max: usize) -> String {
    let mut shown = String::new();
    let mut left = max;
    for c in text.chars() {
        let piece: String = if is_raw(c) {
            c.into()
        } else {
            c.escape_default().collect()
        };
        let size = piece.chars().count();
        if size > left {
            shown.push('…');
            break;
        }
        left -= size;
        shown.push_str(&piece);
    }
    shown
}

/// Control characters, and those that reorder or hide text on a screen, are not shown raw.
fn is_raw(c: char) -> bool {
    let hidden = matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !hidden
}

// together under 1,000 characters, with room for the line and the words between
const FILE: usize = 200;
const KEY: usize = 100;
const VALUE: usize = 64;
const MESSAGE: usize = 560;
