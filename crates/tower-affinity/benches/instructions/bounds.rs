//! The bounds, in a file of lines `PATH INSTRUCTIONS`.

use std::collections::BTreeMap;
use std::fs;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/benches/instructions/bounds.txt"
);

/// How far a value may exceed its bound, in percent: other processors and newer compilers differ.
const MORE: u64 = 3;

/// How far a value may be below its bound, in percent. What has become cheaper stays so.
const LESS: u64 = 10;

const HEADER: &str = "\
# Instructions that the layers add to one request, by path; written by `just accept-instructions`
# and held by `just instructions`.
";

pub(crate) struct Bounds(BTreeMap<String, u64>);

impl Bounds {
    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(FILE).unwrap_or_else(|e| panic!("{FILE}: {e}"));
        Self(
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .map(parse)
                .collect(),
        )
    }

    pub(crate) fn write(values: impl Iterator<Item = (&'static str, u64)>) {
        let lines = values.map(|(path, value)| format!("{path} {value}\n"));
        let text: String = std::iter::once(HEADER.to_owned()).chain(lines).collect();
        fs::write(FILE, text).unwrap_or_else(|e| panic!("{FILE}: {e}"));
    }

    /// What is wrong with the value of a path.
    pub(crate) fn fault(&self, path: &str, value: u64) -> Option<String> {
        let Some(&bound) = self.0.get(path) else {
            return Some(format!(
                "{path}: no bound, {value} counted: `just accept-instructions`"
            ));
        };
        let percent = value * 100;
        if percent > bound * (100 + MORE) {
            return Some(format!(
                "{path}: {value} instructions, {:.1} % above the bound of {bound} ({MORE} % are allowed)",
                (value as f64 / bound as f64 - 1.0) * 100.0,
            ));
        }
        (percent < bound * (100 - LESS)).then(|| {
            format!(
                "{path}: {value} instructions, more than {LESS} % below the bound of {bound}: lower \
                 the bound with `just accept-instructions`"
            )
        })
    }
}

fn parse(line: &str) -> (String, u64) {
    let (path, value) = line
        .split_once(' ')
        .unwrap_or_else(|| panic!("{FILE}: {line:?}"));
    let value = value
        .parse()
        .unwrap_or_else(|e| panic!("{FILE}: {line:?}: {e}"));
    (path.to_owned(), value)
}
