//! The samples of a page of metrics.

use std::collections::{BTreeMap, BTreeSet};

/// One page, read.
#[derive(Clone, Debug)]
pub struct Samples(Vec<Sample>);

#[derive(Clone, Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Samples {
    /// Reads a page in Prometheus' text format.
    ///
    /// # Panics
    ///
    /// If a line is none of it.
    #[must_use]
    pub fn read(page: &str) -> Self {
        let lines = page
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self(
            lines
                .map(|line| sample(line).unwrap_or_else(|| panic!("no sample: {line}")))
                .collect(),
        )
    }

    /// The sum over all series of a name with all these labels.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&Sample| {
            let mut labels = labels.iter();
            sample.name == name
                && labels.all(|(key, value)| sample.labels.get(*key).is_some_and(|v| v == value))
        };
        self.0.iter().filter(has).map(|sample| sample.value).sum()
    }

    /// The values that a label takes in a name's series.
    #[must_use]
    pub fn values(&self, name: &str, label: &str) -> BTreeSet<&str> {
        let series = self.0.iter().filter(|sample| sample.name == name);
        series
            .filter_map(|sample| sample.labels.get(label).map(String::as_str))
            .collect()
    }

    /// The names of a name's labels.
    #[must_use]
    pub fn labels(&self, name: &str) -> BTreeSet<&str> {
        let series = self.0.iter().filter(|sample| sample.name == name);
        series
            .flat_map(|sample| sample.labels.keys().map(String::as_str))
            .collect()
    }
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        None => (series, ""),
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
    };
    let labels = labels
        .split("\",")
        .filter(|label| !label.is_empty())
        .map(|label| {
            let (key, value) = label.split_once("=\"")?;
            Some((key.to_owned(), value.trim_end_matches('"').to_owned()))
        });
    let labels = labels.collect::<Option<_>>()?;
    Some(Sample {
        name: name.to_owned(),
        labels,
        value: value.parse().ok()?,
    })
}
