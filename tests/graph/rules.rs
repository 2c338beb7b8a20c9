//! The questions asked of the table, each answered by a list of faults.

use std::collections::BTreeSet;

use crate::manifest::{Member, Workspace};
use crate::table::{Others, Row};
use crate::tree;

/// A crate without a row, or a row without a crate.
pub(crate) fn unmatched(workspace: &Workspace, table: &[Row]) -> Vec<String> {
    let without_row = workspace
        .members
        .iter()
        .filter(|member| table.iter().all(|row| row.krate != member.name))
        .map(|member| format!("{} has no row in the table", member.name));
    let without_crate = table
        .iter()
        .filter(|row| !workspace.is_ours(row.krate))
        .map(|row| {
            format!(
                "the table has a row for {}, which is no crate here",
                row.krate
            )
        });
    without_row.chain(without_crate).collect()
}

/// A direct dependency that the crate's row does not list.
pub(crate) fn forbidden_edges(workspace: &Workspace, table: &[Row]) -> Vec<String> {
    let mut problems = Vec::new();
    for (row, member) in rows(workspace, table) {
        for dependency in &member.dependencies {
            let name = dependency.name.as_str();
            let listed = match (workspace.is_ours(name), dependency.is_dev(), &row.others) {
                (true, true, _) => row.ours.contains(&name) || row.ours_in_tests.contains(&name),
                (true, false, _) => {
                    row.ours.contains(&name) || dependency.optional && row.backends.contains(&name)
                }
                (false, false, Others::Only(others)) => others.contains(&name),
                (false, true, _) | (false, _, Others::Any) => true,
            };
            if !listed {
                let kind = dependency.kind.as_deref().unwrap_or("normal");
                problems.push(format!(
                    "{} -> {name} ({kind}) is not in the table",
                    row.krate
                ));
            }
        }
    }
    problems
}

/// A way from one of our crates back to itself. Cargo allows one that passes a dev-dependency.
pub(crate) fn circles(workspace: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for member in &workspace.members {
        let mut way = vec![member.name.as_str()];
        if returns(workspace, member, &mut way, &mut BTreeSet::new()) {
            problems.push(format!("circle: {}", way.join(" -> ")));
        }
    }
    problems
}

/// A banned package somewhere below a crate, its backends left out, with the way to it.
pub(crate) fn banned_in_tree(workspace: &Workspace, table: &[Row]) -> Vec<String> {
    let ways = rows(workspace, table).flat_map(|(row, _)| {
        row.never
            .iter()
            .filter_map(|banned| tree::path_to(workspace, row.krate, banned, row.backends))
    });
    ways.map(|way| format!("never: {}", way.join(" -> ")))
        .collect()
}

fn rows<'a>(
    workspace: &'a Workspace,
    table: &'a [Row],
) -> impl Iterator<Item = (&'a Row, &'a Member)> {
    table
        .iter()
        .filter_map(|row| Some((row, workspace.member(row.krate)?)))
}

fn returns<'a>(
    workspace: &'a Workspace,
    at: &'a Member,
    way: &mut Vec<&'a str>,
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    for dependency in &at.dependencies {
        let Some(next) = workspace.member(&dependency.name) else {
            continue;
        };
        way.push(&next.name);
        if way.first() == way.last() {
            return true;
        }
        if seen.insert(&next.name) && returns(workspace, next, way, seen) {
            return true;
        }
        way.pop();
    }
    false
}
