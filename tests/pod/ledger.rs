//! The ledger: a file that is appended to, one line by one write, so that a killed process has
//! lost nothing of what it did before.
//!
//! ```text
//! came ID METHOD PATH WANTED
//! done ID METHOD PATH WANTED
//! ```
//!
//! A request has come with its head, and is done (executed) once its body was read to the end.
//! `WANTED` is the group that the gateway named, `-` if none.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use http::HeaderMap;
use http::request::Parts;

/// The open file.
#[derive(Debug)]
pub(crate) struct Ledger(File);

impl Ledger {
    /// Opens the file to append to it.
    pub(crate) fn open(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self(file.expect("the ledger can be written"))
    }

    /// The request's head is there.
    pub(crate) fn came(&self, head: &Parts) {
        self.enter("came", head);
    }

    /// The request is executed.
    pub(crate) fn done(&self, head: &Parts) {
        self.enter("done", head);
    }

    fn enter(&self, what: &str, head: &Parts) {
        let (id, wanted) = (
            field(&head.headers, "x-request-id"),
            field(&head.headers, "affinity-group"),
        );
        let line = format!("{what} {id} {} {} {wanted}\n", head.method, head.uri.path());
        (&self.0)
            .write_all(line.as_bytes())
            .expect("the ledger can be written");
    }
}

/// A field's value without spaces; `-` if there is none.
fn field<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.filter(|value| !value.contains(' ')).unwrap_or("-")
}
