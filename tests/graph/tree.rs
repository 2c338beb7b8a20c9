//! Walks from one of our crates: to the packages it reaches, and to the features it asks for.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::manifest::{Locked, Workspace};

/// The shortest way from our crate to a package by shipped dependencies, its ends included, that
/// passes none of the crates `around`.
pub(crate) fn path_to(
    workspace: &Workspace,
    from: &str,
    to: &str,
    around: &[&str],
) -> Option<Vec<String>> {
    let start = workspace
        .locked
        .iter()
        .position(|package| package.name == from)?;
    let mut came_from = BTreeMap::from([(start, start)]);
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        if workspace.locked[at].name == to {
            return Some(way_back(workspace, &came_from, at));
        }
        for next in shipped_of(workspace, at) {
            if around.contains(&workspace.locked[next].name.as_str()) {
                continue;
            }
            if let Entry::Vacant(unseen) = came_from.entry(next) {
                unseen.insert(at);
                queue.push_back(next);
            }
        }
    }
    None
}

/// Every feature that our crate, with these of its own features on, asks of `target`, directly or
/// through our other crates. Optional dependencies count as present.
pub(crate) fn features_asked_of(
    workspace: &Workspace,
    from: &str,
    own: &[&str],
    target: &str,
) -> BTreeSet<String> {
    // the empty feature stands for the crate itself
    let mut asked = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut queue: VecDeque<(String, String)> = own
        .iter()
        .map(|feature| (from.to_owned(), (*feature).to_owned()))
        .collect();
    queue.push_back((from.to_owned(), String::new()));
    while let Some((krate, feature)) = queue.pop_front() {
        if !seen.insert((krate.clone(), feature.clone())) {
            continue;
        }
        if krate == target {
            if !feature.is_empty() {
                asked.insert(feature);
            }
            continue;
        }
        let Some(member) = workspace.member(&krate) else {
            continue;
        };
        for dependency in member.shipped() {
            let name = &dependency.name;
            queue.push_back((name.clone(), String::new()));
            queue.extend(
                dependency
                    .features
                    .iter()
                    .map(|f| (name.clone(), f.clone())),
            );
            if dependency.uses_default_features {
                queue.push_back((name.clone(), "default".to_owned()));
            }
        }
        for value in member.features.get(&feature).into_iter().flatten() {
            match value.split_once('/') {
                Some((name, f)) => {
                    queue.push_back((name.trim_end_matches('?').to_owned(), f.to_owned()));
                }
                None => queue.push_back((krate.clone(), value.clone())),
            }
        }
    }
    asked
}

/// A locked entry mixes shipped and dev-dependencies; for our crates the manifest tells them apart.
fn shipped_of(workspace: &Workspace, at: usize) -> Vec<usize> {
    let package = &workspace.locked[at];
    let member = workspace.member(&package.name);
    let is_shipped =
        |name: &str| member.is_none_or(|member| member.shipped().any(|d| d.name == name));
    package
        .dependencies
        .iter()
        .filter(|entry| is_shipped(entry.split(' ').next().unwrap_or(entry)))
        .flat_map(|entry| matching(&workspace.locked, entry))
        .collect()
}

/// An entry is `name`, or `name version` where the lock file holds several versions.
fn matching<'a>(locked: &'a [Locked], entry: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut words = entry.split(' ');
    let (name, version) = (words.next(), words.next());
    let is_meant = move |package: &Locked| {
        Some(package.name.as_str()) == name && version.is_none_or(|v| v == package.version)
    };
    locked
        .iter()
        .enumerate()
        .filter(move |(_, p)| is_meant(p))
        .map(|(index, _)| index)
}

fn way_back(workspace: &Workspace, came_from: &BTreeMap<usize, usize>, end: usize) -> Vec<String> {
    let mut way = vec![workspace.locked[end].name.clone()];
    let mut at = end;
    while came_from[&at] != at {
        at = came_from[&at];
        way.push(workspace.locked[at].name.clone());
    }
    way.reverse();
    way
}
