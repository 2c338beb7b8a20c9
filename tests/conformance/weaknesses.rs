//! What is known to fail, as docs/testing.md lists it.

use std::collections::BTreeSet;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/testing.md");

/// The rows of the only table of its chapter.
pub(super) fn listed() -> BTreeSet<String> {
    let docs = std::fs::read_to_string(DOCS).expect("the docs can be read");
    let (_, chapter) = docs
        .split_once("\n## HTTP/2\n")
        .expect("docs/testing.md has a chapter");
    let chapter = chapter.split("\n## ").next().unwrap_or_default();
    let rows = chapter.lines().filter(|line| line.starts_with("| "));
    // the head and the line below it
    rows.skip(2).map(str::to_owned).collect()
}
