//! From a verb's arguments to what is asked of the admin side.

use http::Method;
use serde_json::{Map, Value, json};
use tower_affinity::core::GroupName;

use super::verb::{Abort, Named, Register, Retire, Seen, Verb, Weights};
use crate::{
    admin::Call,
    exit::{Exit, Failure},
};

/// A change to ask for.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) call: Call,
    /// The group that it is about; its new state is told.
    pub(super) group: Option<GroupName>,
    /// Whether it is only looked at.
    pub(super) is_preview: bool,
}

impl Verb {
    /// The change that the verb asks for; `None` if it only looks.
    pub(super) fn change(&self) -> Result<Option<Change>, Failure> {
        Ok(Some(match self {
            Self::Show
            | Self::Wait(_)
            | Self::Analyze(_)
            | Self::DrainEndpoint(_)
            | Self::UndrainEndpoint(_)
            | Self::Facts(_)
            | Self::Replicas
            | Self::ForgetReplica(_) => return Ok(None),
            Self::Register(register) => register.change(),
            Self::Weights(weights) => weights.change()?,
            Self::Promote(named) => named.change("promote"),
            Self::Drain(named) => named.change("drain"),
            Self::Abort(abort) => abort.change(),
            Self::Restore(named) => named.change("restore"),
            Self::Retire(retire) => retire.change(),
            Self::Lock(seen) => of_all("lock", seen),
            Self::Unlock(seen) => of_all("unlock", seen),
        }))
    }
}

impl Change {
    fn new(call: Call, group: Option<&GroupName>, seen: &Seen) -> Self {
        let call = call.if_match(seen.if_match);
        Self {
            call: if seen.preview { call.preview() } else { call },
            group: group.cloned(),
            is_preview: seen.preview,
        }
    }
}

impl Register {
    fn change(&self) -> Change {
        let mut body = json!({
            "name": self.group.as_str(),
            "endpoints": self.endpoints,
            "weight": self.weight.get(),
        });
        // a gateway from before there were declarations refuses what it does not know
        if !self.compatible_with.is_empty() {
            let with: Vec<&str> = self.compatible_with.iter().map(GroupName::as_str).collect();
            if let Value::Object(body) = &mut body {
                body.insert("compatible_with".to_owned(), with.into());
            }
        }
        let call = Call::change(Method::POST, "/v1/groups", &body);
        Change::new(call, Some(&self.group), &self.seen)
    }
}

impl Weights {
    fn change(&self) -> Result<Change, Failure> {
        let mut body = Map::new();
        for share in &self.weights {
            let weight = Value::from(share.weight.get());
            if body.insert(share.group.to_string(), weight).is_some() {
                let group = &share.group;
                let detail = format!("{group} has two weights; accepted: one for each group");
                return Err(Failure::new(Exit::Usage, "usage", detail));
            }
        }
        let call = Call::change(Method::PUT, "/v1/rollout/weights", &body.into());
        Ok(Change::new(call, None, &self.seen))
    }
}

impl Named {
    fn change(&self, verb: &str) -> Change {
        of_group(&self.group, verb, &json!({}), &self.seen)
    }
}

impl Abort {
    fn change(&self) -> Change {
        // what is null is decided by the gateway
        let body = json!({
            "to": self.to.as_ref().map(GroupName::as_str),
            "policy": self.policy,
            "within": self.within.map(|within| humantime::format_duration(within).to_string()),
            "force": self.force,
        });
        let change = of_group(&self.group, "abort", &body, &self.seen);
        Change {
            call: change.call.idempotent(),
            ..change
        }
    }
}

impl Retire {
    fn change(&self) -> Change {
        of_group(
            &self.group,
            "retire",
            &json!({ "force": self.force }),
            &self.seen,
        )
    }
}

fn of_all(verb: &str, seen: &Seen) -> Change {
    let call = Call::change(Method::POST, &format!("/v1/rollout/{verb}"), &json!({}));
    Change::new(call, None, seen)
}

fn of_group(group: &GroupName, verb: &str, body: &Value, seen: &Seen) -> Change {
    let call = Call::change(Method::POST, &format!("/v1/groups/{group}/{verb}"), body);
    Change::new(call, Some(group), seen)
}
