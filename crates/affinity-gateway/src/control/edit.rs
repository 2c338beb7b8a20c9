//! An edited file as one change: only what differs from the values last applied counts.
//!
//! So an unedited value never overrides what operators did since, and no edit lifts an abort.

use std::collections::BTreeMap;

use tower_affinity::core::{AbortRequest, Change, GroupName, Rollout, State, Weight};

use super::applied::{Applied, AppliedGroups, Word};
use super::drained::retire;
use super::error::EditError;
use super::terms::{Terms, deadline};
use crate::config::{GroupSetting, GroupState};

/// The rollout after the edits that lead from `last` to `groups`.
pub(super) fn edited(
    rollout: &Rollout,
    last: &AppliedGroups,
    groups: &[GroupSetting],
    terms: &Terms<'_>,
) -> Result<Rollout, EditError> {
    let mut next = rollout.clone();
    let mut weights = BTreeMap::new();
    let mut before = Vec::with_capacity(groups.len());
    for group in groups {
        let refused = |refusal| EditError::Refused {
            group: group.name.clone(),
            refusal,
        };
        let block = match last.get(group.name.as_str()) {
            Some(block) => block.clone(),
            None => match live(&next, &group.name) {
                // known by a verb already: the defaults of a new block are no wishes
                Some(_) if is_plain(group) => Applied::of(group),
                Some(live) => live,
                None => {
                    next = next
                        .register(&group.name, Weight::ZERO, terms.change)
                        .map_err(refused)?;
                    Applied {
                        weight: 0,
                        stable: false,
                        state: Word::Staged,
                        abort_to: None,
                        compatible_with: Vec::new(),
                    }
                }
            },
        };
        before.push(block);
    }
    for (group, block) in groups.iter().zip(&before) {
        next = with_state(next, block, group, terms)?;
    }
    for (group, block) in groups.iter().zip(&before) {
        let refused = |refusal| EditError::Refused {
            group: group.name.clone(),
            refusal,
        };
        if group.stable && !block.stable {
            next = next.stabilise(&group.name, terms.change).map_err(refused)?;
        }
        if Applied::of(group).compatible_with != block.compatible_with {
            let with = &group.compatible_with;
            next = next
                .declare(&group.name, with, terms.change)
                .map_err(refused)?;
        }
        if group.state == GroupState::Active && group.weight.get() != block.weight {
            weights.insert(group.name.clone(), group.weight);
        }
    }
    if let Some(name) = weights.keys().next().cloned() {
        next = next
            .weights(&weights, terms.change)
            .map_err(|refusal| EditError::Refused {
                group: name,
                refusal,
            })?;
    }
    removed(next, last, groups, terms)
}

/// What was edited that only a verb can change where replicas share the state.
pub(super) fn ignored(last: &AppliedGroups, groups: &[GroupSetting]) -> Vec<String> {
    let edited = groups.iter().filter(|group| {
        let block = last.get(group.name.as_str());
        block.is_some_and(|block| *block != Applied::of(group))
    });
    let removed = last
        .keys()
        .filter(|name| groups.iter().all(|g| g.name.as_str() != *name));
    edited
        .map(|group| {
            format!(
                "group {}: its weight, state, stable or compatible_with was edited",
                group.name
            )
        })
        .chain(removed.map(|name| format!("group {name}: its block was removed")))
        .collect()
}

fn with_state(
    rollout: Rollout,
    block: &Applied,
    group: &GroupSetting,
    terms: &Terms<'_>,
) -> Result<Rollout, EditError> {
    let to = Applied::of(group);
    if to.state == block.state && to.abort_to == block.abort_to {
        return Ok(rollout);
    }
    let name = &group.name;
    let change: Change = terms.change;
    let next = match (block.state, &group.state) {
        (Word::Staged | Word::Draining, GroupState::Active) => rollout.activate(name, change),
        (Word::Active, GroupState::Draining) => rollout.drain(name, change),
        (
            Word::Staged | Word::Active | Word::Draining | Word::Aborted,
            GroupState::Aborted { to },
        ) => {
            let policy = deadline(terms.policy, terms.within, change.now);
            let request = AbortRequest {
                to: Some(to.clone()),
                policy: Some(policy),
                force: false,
            };
            rollout.abort(name, &request, &terms.groups.healthy(), change)
        }
        (Word::Staged | Word::Draining | Word::Aborted, GroupState::Retired) => {
            retire(&rollout, name, false, terms)
        }
        (from, _) => {
            return Err(EditError::Backwards {
                group: name.clone(),
                from: from.name(),
                to: to.state.name(),
            });
        }
    };
    next.map_err(|refusal| EditError::Refused {
        group: name.clone(),
        refusal,
    })
}

/// Blocks that are not in the file any more: their groups are retired.
fn removed(
    mut next: Rollout,
    last: &AppliedGroups,
    groups: &[GroupSetting],
    terms: &Terms<'_>,
) -> Result<Rollout, EditError> {
    for name in last
        .keys()
        .filter(|name| groups.iter().all(|g| g.name.as_str() != *name))
    {
        // what was applied was a valid name once
        let Ok(name) = name.parse::<GroupName>() else {
            continue;
        };
        if next.group(&name).is_none() {
            continue;
        }
        next = retire(&next, &name, false, terms).map_err(|refusal| EditError::Removed {
            group: name,
            refusal,
        })?;
    }
    Ok(next)
}

/// Whether a block asks for nothing but its defaults.
fn is_plain(group: &GroupSetting) -> bool {
    let declares = !group.compatible_with.is_empty();
    group.state == GroupState::Active && group.weight.is_zero() && !group.stable && !declares
}

/// A group that is there already, as a block would write it.
fn live(rollout: &Rollout, name: &GroupName) -> Option<Applied> {
    let group = rollout.group(name)?;
    let (state, abort_to) = match group.state() {
        State::Retired { .. } => return None,
        State::Staged => (Word::Staged, None),
        State::Active => (Word::Active, None),
        State::Draining { .. } => (Word::Draining, None),
        State::Aborted(abort) => (Word::Aborted, Some(abort.target.name().to_string())),
    };
    let stable = rollout.stable() == name;
    Some(Applied {
        weight: group.weight().get(),
        stable,
        state,
        abort_to,
        compatible_with: group
            .compatible_with()
            .iter()
            .map(ToString::to_string)
            .collect(),
    })
}
