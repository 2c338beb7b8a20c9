//! Reading the tree: the keys of a table, and what is wrong with them.

use std::cell::{Cell, RefCell};
use std::fmt;

use toml::de::DeTable;

use super::document::{Document, Source};
use super::error::ConfigError;
use super::field::Field;

/// Counts what is wrong and keeps the first mistake of the file.
pub(super) struct Report<'t> {
    pub(super) source: &'t Source<'t>,
    first: RefCell<Option<ConfigError>>,
    count: Cell<usize>,
}

impl<'t> Report<'t> {
    pub(super) fn new(source: &'t Source<'t>) -> Self {
        Self {
            source,
            first: RefCell::default(),
            count: Cell::default(),
        }
    }

    pub(super) fn add(&self, problem: ConfigError) {
        self.count.set(self.count.get() + 1);
        let mut first = self.first.borrow_mut();
        if first
            .as_ref()
            .is_none_or(|first| place(&problem) < place(first))
        {
            *first = Some(problem);
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.count.get() == 0
    }

    /// The first mistake by line; what is missing from the whole file comes last.
    pub(super) fn first(self) -> Option<ConfigError> {
        let more = self.count.get().saturating_sub(1);
        Some(self.first.into_inner()?.more(more))
    }
}

/// Reads a text as TOML, and `read` makes of its tree what it means, unless a mistake was reported.
///
/// # Errors
///
/// The first mistake in the order of the lines, and how many more there are.
pub(crate) fn read_text<T>(
    text: &str,
    read: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Result<T, ConfigError> {
    let document = Document::parse(text)?;
    let report = Report::new(&document.source);
    let read = read(&Section::root(&report, document.root.get_ref()));
    match (report.first(), read) {
        (Some(error), _) => Err(error),
        (None, Some(read)) => Ok(read),
        (None, None) => Err(ConfigError::new("the file is incomplete").at(Some(1))),
    }
}

/// Where a mistake stands among the others.
fn place(problem: &ConfigError) -> usize {
    problem.line().unwrap_or(usize::MAX)
}

/// One table of the file; a table that is not there reads as an empty one.
pub(crate) struct Section<'a> {
    report: &'a Report<'a>,
    path: String,
    line: Option<usize>,
    table: Option<&'a DeTable<'a>>,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    /// The table that a value is.
    pub(super) fn new(
        report: &'a Report<'a>,
        path: String,
        line: Option<usize>,
        table: Option<&'a DeTable<'a>>,
    ) -> Self {
        Self {
            report,
            path,
            line,
            table,
            known: RefCell::default(),
        }
    }

    /// The file itself.
    pub(super) fn root(report: &'a Report<'a>, table: &'a DeTable<'a>) -> Self {
        Self::new(report, String::new(), None, Some(table))
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// The value of `name`, if it is written; marks the key as known.
    pub(crate) fn field(&self, name: &'static str) -> Option<Field<'a>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&name) {
            known.push(name);
        }
        self.written(name)
    }

    fn written(&self, name: &str) -> Option<Field<'a>> {
        let value = self.table?.get(name)?;
        Some(Field::new(self.report, self.key(name), value))
    }

    /// Every key with its value, where the keys are names that the file chose.
    pub(crate) fn named(&self) -> Vec<(&'a str, Field<'a>)> {
        let entries = self.table.into_iter().flatten();
        entries
            .map(|(name, value)| {
                let name = name.get_ref().as_ref();
                (name, Field::new(self.report, self.key(name), value))
            })
            .collect()
    }

    /// As [`Section::field`], and a mistake if it is not written.
    pub(crate) fn required(
        &self,
        name: &'static str,
        accepted: impl fmt::Display,
    ) -> Option<Field<'a>> {
        let field = self.field(name);
        if field.is_none() {
            self.missing(name, accepted);
        }
        field
    }

    pub(crate) fn missing(&self, name: &str, accepted: impl fmt::Display) {
        let problem = ConfigError::new(format!("is missing; accepted: {accepted}"));
        self.report.add(problem.at(self.line).key(&self.key(name)));
    }

    /// A rule over several keys is broken: told at `name`, whether it is written or a default.
    pub(crate) fn refuse(&self, name: &'static str, message: impl fmt::Display) {
        match self.field(name) {
            Some(field) => field.refuse(message),
            None => {
                let problem = ConfigError::new(message).at(self.line).key(&self.key(name));
                self.report.add(problem);
            }
        }
    }

    /// A rule over a whole list of tables is broken: told at the first of them.
    pub(crate) fn refuse_whole(&self, name: &'static str, message: impl fmt::Display) {
        match self.field(name) {
            Some(field) => field.unseen().refuse(message),
            None => self.refuse(name, message),
        }
    }

    /// Whether nothing was refused so far. A rule over several keys is asked only then: held against
    /// a default that stands in for a wrong value it would tell of mistakes that nobody made.
    pub(crate) fn is_clean(&self) -> bool {
        self.report.is_clean()
    }

    /// The table `name`.
    pub(crate) fn section(&self, name: &'static str) -> Self {
        match self.field(name) {
            Some(field) => field.section(),
            None => Self::new(self.report, self.key(name), self.line, None),
        }
    }

    /// The tables `[[name]]`, at most `max` of them.
    pub(crate) fn sections(&self, name: &'static str, max: usize) -> Vec<Self> {
        let items = self
            .field(name)
            .and_then(|field| field.items(max, "tables [[…]]"));
        items
            .unwrap_or_default()
            .into_iter()
            .map(|item| item.section())
            .collect()
    }

    /// Refuses every key that nobody asked for.
    pub(crate) fn finish(&self) {
        let known = self.known.borrow();
        for (name, value) in self.table.into_iter().flatten() {
            let text = name.get_ref().as_ref();
            if !known.contains(&text) {
                let accepted = format!("is not a known key; accepted here: {}", known.join(", "));
                let line = self
                    .report
                    .source
                    .line(name.span().start.min(value.span().start));
                self.report.add(
                    ConfigError::new(accepted)
                        .at(Some(line))
                        .key(&self.key(text)),
                );
            }
        }
    }
}
