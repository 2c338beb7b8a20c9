//! The values of the configuration last applied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use tower_affinity::core::GroupName;

use crate::config::{GroupSetting, GroupState};

/// The values of one block that count when edited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Applied {
    pub(super) weight: u16,
    pub(super) stable: bool,
    pub(super) state: Word,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) abort_to: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) compatible_with: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Word {
    Staged,
    Active,
    Draining,
    Aborted,
    Retired,
}

impl Word {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Aborted => "aborted",
            Self::Retired => "retired",
        }
    }
}

/// All blocks last applied, by group.
pub(super) type AppliedGroups = BTreeMap<String, Applied>;

pub(super) fn applied(groups: &[GroupSetting]) -> AppliedGroups {
    groups
        .iter()
        .map(|group| (group.name.to_string(), Applied::of(group)))
        .collect()
}

impl Applied {
    pub(super) fn of(group: &GroupSetting) -> Self {
        let (state, abort_to) = match &group.state {
            GroupState::Staged => (Word::Staged, None),
            GroupState::Active => (Word::Active, None),
            GroupState::Draining => (Word::Draining, None),
            GroupState::Aborted { to } => (Word::Aborted, Some(to.to_string())),
            GroupState::Retired => (Word::Retired, None),
        };
        Self {
            weight: group.weight.get(),
            stable: group.stable,
            state,
            abort_to,
            compatible_with: group
                .compatible_with
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }

    /// The groups whose sessions it can serve.
    pub(super) fn compatible_with(&self) -> Vec<GroupName> {
        let names = self.compatible_with.iter();
        // what was applied was a valid name once
        names.filter_map(|name| name.parse().ok()).collect()
    }
}
