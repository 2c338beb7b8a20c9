//! Reading the tree: one value, typed, with what is accepted instead of it.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::error::ConfigError;
use super::section::{Report, Section};
use super::span::Bounds;

/// One written value.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    report: &'a Report<'a>,
    key: String,
    value: &'a Spanned<DeValue<'a>>,
    shown: bool,
}

impl<'a> Field<'a> {
    pub(super) fn new(
        report: &'a Report<'a>,
        key: String,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Self {
        Self {
            report,
            key,
            value,
            shown: true,
        }
    }

    /// The same value, which may be a secret: no message shows it, nor an item of it.
    pub(crate) fn unseen(self) -> Self {
        Self {
            shown: false,
            ..self
        }
    }

    /// Refuses the value.
    pub(crate) fn refuse(&self, message: impl fmt::Display) {
        let line = self.report.source.line(self.value.span().start);
        let problem = ConfigError::new(message).at(Some(line)).key(&self.key);
        let value = match self.value.get_ref() {
            DeValue::Table(_) => "a table",
            DeValue::Array(_) => "an array",
            _ => self.report.source.written(self.value.span()),
        };
        self.report.add(if self.shown {
            problem.value(value)
        } else {
            problem
        });
    }

    fn not_accepted(&self, accepted: impl fmt::Display) {
        self.refuse(format!("accepted: {accepted}"));
    }

    pub(crate) fn text(&self, accepted: impl fmt::Display) -> Option<&'a str> {
        let text = self.value.get_ref().as_str();
        if text.is_none() {
            self.not_accepted(accepted);
        }
        text
    }

    /// A text that `parse` understands.
    pub(crate) fn parsed<T>(
        &self,
        accepted: impl fmt::Display,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = self.value.get_ref().as_str().and_then(parse);
        if parsed.is_none() {
            self.not_accepted(accepted);
        }
        parsed
    }

    /// One of a closed list of words.
    pub(crate) fn word<T: Clone>(&self, words: &[(&str, T)]) -> Option<T> {
        let written = self.value.get_ref().as_str();
        let found = written.and_then(|written| words.iter().find(|(word, _)| *word == written));
        if found.is_none() {
            let words: Vec<_> = words
                .iter()
                .map(|(word, _)| format!("\"{word}\""))
                .collect();
            self.not_accepted(words.join(", "));
        }
        found.map(|(_, value)| value.clone())
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        let flag = self.value.get_ref().as_bool();
        if flag.is_none() {
            self.not_accepted("true, false");
        }
        flag
    }

    pub(crate) fn integer(&self, range: &RangeInclusive<u64>) -> Option<u64> {
        let number = self.value.get_ref().as_integer();
        let number = number.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        let number = number.filter(|n| range.contains(n));
        if number.is_none() {
            let (low, high) = (range.start(), range.end());
            self.not_accepted(format!("a whole number from {low} to {high}"));
        }
        number
    }

    /// A number of any kind, above `low` and at most `high`.
    pub(crate) fn number(&self, low: f64, high: f64) -> Option<f64> {
        let value = self.value.get_ref();
        let whole = value.as_integer().filter(|n| n.radix() == 10);
        let text = value
            .as_float()
            .map(|n| n.as_str())
            .or(whole.map(|n| n.as_str()));
        let number = text.and_then(|text| text.parse::<f64>().ok());
        let number = number.filter(|n| *n > low && *n <= high);
        if number.is_none() {
            self.not_accepted(format!("a number above {low} and at most {high}"));
        }
        number
    }

    pub(crate) fn duration(&self, bounds: &Bounds) -> Option<Duration> {
        // humantime sums its parts with checks, but nobody needs a duration of a hundred words
        let text = self
            .value
            .get_ref()
            .as_str()
            .filter(|text| text.len() <= 64);
        let span = text.and_then(|text| humantime::parse_duration(text).ok());
        let span = span.filter(|span| bounds.accept(*span));
        if span.is_none() {
            self.not_accepted(bounds);
        }
        span
    }

    /// The items of an array, each with its own place.
    pub(crate) fn items(&self, max: usize, accepted: &str) -> Option<Vec<Self>> {
        let Some(items) = self.value.get_ref().as_array() else {
            self.not_accepted(format!("an array of {accepted}"));
            return None;
        };
        if items.len() > max {
            self.refuse(format!(
                "has {} entries; accepted: at most {max}",
                items.len()
            ));
            return None;
        }
        let item = |(at, value)| Self {
            report: self.report,
            key: format!("{}[{at}]", self.key),
            value,
            shown: self.shown,
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The value as a table.
    pub(crate) fn section(&self) -> Section<'a> {
        let table = self.value.get_ref().as_table();
        if table.is_none() {
            self.not_accepted("a table");
        }
        let line = self.report.source.line(self.value.span().start);
        Section::new(self.report, self.key.clone(), Some(line), table)
    }
}
