//! The samples of our own page of metrics, in Prometheus' text format.

/// One sample of a series.
#[derive(Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    labels: &'a str,
    pub(super) value: f64,
}

/// The samples of a page, in its order.
///
/// The page is our own: its labels are names of groups and words of closed lists, none of which has
/// a character that has to be escaped. A line that is not like that is no sample.
pub(super) fn samples(page: &str) -> impl Iterator<Item = Sample<'_>> {
    page.lines().filter_map(sample)
}

fn sample(line: &str) -> Option<Sample<'_>> {
    if line.starts_with('#') || line.contains('\\') {
        return None;
    }
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        None => (series, ""),
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
    };
    Some(Sample {
        name,
        labels,
        value: value.parse().ok()?,
    })
}

impl<'a> Sample<'a> {
    /// The value of a label; `None` if the series has none of that name.
    pub(super) fn label(&self, name: &str) -> Option<&'a str> {
        let mut labels = self.labels.split("\",");
        labels.find_map(|label| {
            let (key, value) = label.split_once("=\"")?;
            (key == name).then(|| value.strip_suffix('"').unwrap_or(value))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_sample_has_a_name_labels_and_a_value() {
        let page = "# HELP a_total Help {of=\"it\"} 1\n# TYPE a_total counter\n\
                    a_total{group=\"9f1c2ab\",le=\"+Inf\"} 12\n\nb 0.5\n";
        let read: Vec<_> = samples(page).collect();
        let [a, b] = &read[..] else {
            panic!("{read:?}")
        };
        assert_eq!((a.name, a.value), ("a_total", 12.0));
        assert_eq!(
            (a.label("group"), a.label("le")),
            (Some("9f1c2ab"), Some("+Inf"))
        );
        assert_eq!((a.label("roup"), b.label("group")), (None, None));
        assert_eq!((b.name, b.value), ("b", 0.5));
    }

    #[test]
    fn a_line_of_another_format_is_no_sample() {
        for line in ["", "a", "a{b=\"c\" 1", "a one", "a{b=\"\\\"\"} 1"] {
            assert_eq!(sample(line), None, "{line:?}");
        }
    }
}
