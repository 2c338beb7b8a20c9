//! The unknown fields of one payload, as far as there is room for them.

use super::kept::Kept;
use crate::record;

/// How many bytes the unknown fields of a payload may take.
// Four times the cookie that would carry a whole session, and little enough for every session that
// a process reads at a time.
pub(super) const LIMIT: usize = 16 * 1024;

/// Unknown fields, by name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Carried {
    fields: Vec<(String, Kept)>,
    left: usize,
    dropped: usize,
}

impl Default for Carried {
    fn default() -> Self {
        Self {
            fields: Vec::new(),
            left: LIMIT,
            dropped: 0,
        }
    }
}

impl Carried {
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn dropped(&self) -> usize {
        self.dropped
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &Kept)> {
        self.fields.iter().map(|(name, kept)| (name.as_str(), kept))
    }

    /// The bytes that are left for what is being read.
    pub(super) fn left(&mut self) -> &mut usize {
        &mut self.left
    }

    /// Takes a field, or what is left of it where there was no room: then all are dropped.
    pub(super) fn take(&mut self, name: Option<String>, kept: Option<Kept>) {
        match (name, kept) {
            (Some(name), Some(kept)) if self.dropped == 0 => {
                // a name that comes twice counts as it does in a struct of another language: last
                match self.fields.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, former)) => *former = kept,
                    None => self.fields.push((name, kept)),
                }
            }
            _ => {
                self.dropped += self.fields.len() + 1;
                self.fields = Vec::new();
                self.left = 0;
            }
        }
    }

    /// The payload is read to its end.
    pub(super) fn settle(&self) {
        if self.dropped > 0 {
            record::fields_dropped(self.dropped as u64);
            tracing::warn!(
                fields = self.dropped,
                limit = LIMIT,
                "unknown fields of a session's payload are dropped: too much to carry"
            );
        }
    }
}
