//! An edited configuration.

use std::sync::Arc;

use tower_affinity::core::Timestamp;

use super::applied::applied;
use super::change::{Changed, Held};
use super::edit::{edited, ignored};
use super::error::ControlError;
use super::keys::rotated;
use super::live::Live;
use super::plane::Control;
use super::store::Kept;
use super::told::difference;
use crate::config::Settings;
use crate::events::Kind;

impl Control {
    /// Applies an edited configuration as one change, or nothing of it. Where replicas share the
    /// state, edits of weights and states count for nothing: they are changed by verbs.
    ///
    /// Blocks while the state file is written.
    ///
    /// # Errors
    ///
    /// As [`Control::change`], and if a key would leave too early.
    pub fn apply(&self, settings: &Settings) -> Result<Changed, ControlError> {
        let _saving = self.saving();
        self.unless_sealed()?;
        let mut live = self.live();
        let before = self.0.rollouts.current();
        let last = live.kept.applied.clone();
        let mut kept = kept_with(&live, settings, self.now())?;
        let after = match self.member() {
            None => {
                let mut next = live.with(settings, live.kept.clone())?;
                let after = self.publish(
                    &mut next,
                    kept,
                    |saved| saved,
                    |rollout, terms| Ok(edited(rollout, &last, &settings.groups, terms)?),
                )?;
                *live = next;
                after
            }
            Some(member) => {
                for edit in ignored(&last, &settings.groups) {
                    tracing::warn!(
                        edit,
                        "an edit counts for nothing where replicas share the state"
                    );
                }
                let groups = settings.groups.iter().map(|group| group.name.to_string());
                let new = groups.filter(|name| !last.contains_key(name));
                kept.new_groups.extend(new);
                let rollout = kept.rollout.clone();
                *live = live.with(settings, kept)?;
                self.accept(&mut live, rollout);
                self.0.file.save(&live.kept)?;
                member.want();
                self.0.rollouts.current()
            }
        };
        if after.revision() != before.revision() {
            tracing::info!(
                target: "affinity::audit",
                who = "configuration",
                verb = "edit",
                before = before.revision().0,
                after = after.revision().0,
                "rollout changed"
            );
            let what = difference(&before, &after);
            let revision = after.revision();
            let text = format!("edit by configuration, revision {}: {what}", revision.0);
            self.events().keep(Kind::Rollout, None, &text);
        }
        Ok(Changed {
            before,
            after: Arc::clone(&after),
            held: Held::All,
        })
    }
}

/// What is to be kept of the settings besides the rollout.
fn kept_with(live: &Live, settings: &Settings, now: Timestamp) -> Result<Kept, ControlError> {
    let keys = rotated(&live.kept.keys, &settings.pin, now).map_err(|(id, free)| {
        let why = match free {
            Some(free) => format!("it signed until less than pin.max_age ago, free at {free}"),
            None => "it signs now; move it behind another key first".to_owned(),
        };
        ControlError::Key { id, why }
    })?;
    let mut kept = live.kept.clone();
    kept.keys = keys;
    let max_age = settings.pin.lifetimes.max_age();
    kept.cookies = live.kept.cookies.with(&settings.pin.cookie, now, max_age);
    for group in &settings.groups {
        let name = group.name.to_string();
        match group.discovery {
            None => kept.endpoints.insert(name, group.endpoints.clone()),
            // what it has stays until its source has answered
            Some(_) => {
                kept.endpoints.entry(name).or_default();
                None
            }
        };
    }
    kept.applied = applied(&settings.groups);
    Ok(kept)
}
