//! `[failures]`: which sessions of a plan fail.

use std::collections::BTreeMap;

use tower_affinity::core::GroupName;

use super::step::unknown;
use crate::config::Section;

/// Which sessions fail.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Failures {
    /// The part of a group's new sessions that fails, at one of their requests; 0 for the groups
    /// that are not named.
    pub sessions: BTreeMap<GroupName, f64>,
    /// The part of the sessions from before a step that fails in it, at one of their requests.
    pub older: f64,
}

impl Failures {
    pub(super) fn read(failures: &Section<'_>, groups: &[GroupName]) -> Option<Self> {
        let named = failures.required("sessions", "the part that fails, by group");
        let named = named.map(|field| field.section().named());
        let mut sessions = BTreeMap::new();
        for (name, field) in named.into_iter().flatten() {
            match groups.iter().find(|group| group.as_str() == name) {
                Some(group) => {
                    sessions.extend(field.number(0.0, 1.0).map(|rate| (group.clone(), rate)));
                }
                None => field.refuse(unknown(groups)),
            }
        }
        let older = failures.field("older");
        let older = older.map_or(Some(0.0), |field| field.number(0.0, 1.0));
        failures.finish();
        Some(Self {
            sessions,
            older: older?,
        })
    }

    /// The part of the new sessions of a group that fails.
    pub(super) fn rate(&self, group: &GroupName) -> f64 {
        self.sessions.get(group).copied().unwrap_or_default()
    }
}
