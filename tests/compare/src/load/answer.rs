//! An answer as it is read.

use memchr::{memchr_iter, memmem};

use crate::pods::GROUPS;

/// What is read of one answer after another.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    head: Vec<u8>,
    /// The head, once it is whole, and how much of the body is missing.
    begun: Option<(Head, usize)>,
}

/// What a head says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) group: Option<usize>,
    pub(crate) sets_cookie: bool,
    pub(crate) closes: bool,
    length: usize,
}

impl Reading {
    /// Takes what came; the head of the answer if that was its end.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Option<Head> {
        if self.begun.is_none() {
            let from = self.head.len().saturating_sub(3);
            let before = self.head.len();
            self.head.extend_from_slice(bytes);
            let end = from + memmem::find(&self.head[from..], b"\r\n\r\n")? + 4;
            bytes = &bytes[end - before..];
            let head = Head::of(&self.head[..end]);
            self.begun = Some((head, head.length));
        }
        let (head, left) = self.begun.as_mut()?;
        *left = left.saturating_sub(bytes.len());
        if *left > 0 {
            return None;
        }
        let head = *head;
        self.clear();
        Some(head)
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.begun = None;
    }
}

impl Head {
    fn of(bytes: &[u8]) -> Self {
        let status = bytes
            .get(9..12)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let mut head = Self {
            status: status.and_then(|digits| digits.parse().ok()).unwrap_or(0),
            ..Self::default()
        };
        for at in memchr_iter(b'\n', bytes) {
            let line = &bytes[at + 1..];
            let line = &line[..memchr::memchr(b'\r', line).unwrap_or(line.len())];
            let Some(colon) = memchr::memchr(b':', line) else {
                continue;
            };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            let text = || std::str::from_utf8(value).unwrap_or_default();
            // few lines are worth comparing
            match name.len() {
                7 if name.eq_ignore_ascii_case(b"x-group") => {
                    head.group = GROUPS.iter().position(|group| group.as_bytes() == value);
                }
                10 if name.eq_ignore_ascii_case(b"set-cookie") => head.sets_cookie = true,
                10 if name.eq_ignore_ascii_case(b"connection") => {
                    head.closes = value.eq_ignore_ascii_case(b"close");
                }
                14 if name.eq_ignore_ascii_case(b"content-length") => {
                    head.length = text().parse().unwrap_or(0);
                }
                _ => {}
            }
        }
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nX-Group: green\r\nSet-Cookie: a=b\r\n\
        Content-Length: 5\r\nConnection: close\r\n\r\nhello";

    #[test]
    fn an_answer_ends_with_its_last_byte_wherever_it_is_cut() {
        let head = Head {
            status: 200,
            group: Some(1),
            sets_cookie: true,
            closes: true,
            length: 5,
        };
        for cut in 1..ANSWER.len() {
            let (first, second) = ANSWER.split_at(cut);
            let mut reading = Reading::default();
            assert_eq!(reading.take(first), None, "cut at {cut}");
            assert_eq!(reading.take(second), Some(head), "cut at {cut}");
            // and the next one is read alike
            assert_eq!(reading.take(ANSWER), Some(head), "cut at {cut}");
        }
    }
}
