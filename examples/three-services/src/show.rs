//! What the visitors met, for a human.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::service::Seen;
use crate::visit::Visits;

/// A line for each visitor, and the sum of it.
#[must_use]
pub fn show(met: &Visits) -> String {
    let mut text = String::from("visitor  visits  met\n");
    let mut steady = 0;
    for (number, visits) in met.iter().enumerate() {
        let different: BTreeSet<&Vec<Seen>> = visits.iter().collect();
        steady += usize::from(different.len() == 1);
        let ways: Vec<String> = different.into_iter().map(|way| way_of(way)).collect();
        let (number, visits, ways) = (number + 1, visits.len(), ways.join(", then "));
        // a String takes everything
        let _full = writeln!(text, "{number:>7}  {visits:>6}  {ways}");
    }
    let visitors = met.len();
    let _full = write!(
        text,
        "{steady} of {visitors} visitors met one commit of each service, through a promote of all of them"
    );
    text
}

fn way_of(way: &[Seen]) -> String {
    let steps = way
        .iter()
        .map(|seen| format!("{} {}", seen.service, seen.commit));
    steps.collect::<Vec<_>>().join(" → ")
}
