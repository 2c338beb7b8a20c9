//! What a verb prints on stdout, for people in columns.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

/// Prints one text and ends its last line.
pub(crate) fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    out.flush()
}

/// Rows in columns as wide as their widest cell; no line ends in white space.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let cells: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `text` with everything escaped that could break a line or steer a terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A time in seconds since the Unix epoch, in UTC.
pub(crate) fn instant(secs: u64) -> String {
    // later than the year 9999 there is no text form
    const LAST: u64 = 253_402_300_799;
    if secs > LAST {
        return format!("{secs}s");
    }
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(secs)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "long cell", ""], ["ünïcode", "b", "c"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "a        long cell\nünïcode  b          c");
    }

    #[test]
    fn a_terminal_is_not_steered() {
        assert_eq!(
            printable("a\u{1b}[2J\u{202e}b\r\n→"),
            "a\\u{1b}[2J\\u{202e}b\\r\\n→"
        );
    }

    #[test]
    fn every_time_has_a_text() {
        assert_eq!(instant(0), "1970-01-01T00:00:00Z");
        assert_eq!(instant(1_000_000_000), "2001-09-09T01:46:40Z");
        assert_eq!(instant(u64::MAX), "18446744073709551615s");
    }
}
