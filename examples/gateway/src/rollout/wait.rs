//! `gateway rollout wait`: until no session of a group is left.

use super::verb::Wait;
use super::view::GroupView;
use crate::admin::{Admin, Answer, Call};
use crate::exit::{Exit, Failure};
use crate::output::printable;

impl Wait {
    /// What is printed once the group is drained.
    pub(super) fn run(&self, admin: &Admin, json: bool) -> Result<String, Failure> {
        let call = Call::get(&format!("/v1/groups/{}", self.group));
        let mut last = None;
        let drained = admin.ask_until(&call, self.timeout, |answer| {
            let group: GroupView = answer.read()?;
            let drained = done(&group, answer)?;
            last = Some(group.left());
            Ok(drained)
        })?;
        match drained {
            Some(answer) if json => Ok(answer.text().to_owned()),
            Some(_) => Ok(printable(&format!("{} is drained", self.group))),
            None => {
                let left = last.unwrap_or_else(|| "no answer came".to_owned());
                let detail = format!("{} is not drained yet: {left}", self.group);
                Err(Failure::new(Exit::TimedOut, "timed-out", detail))
            }
        }
    }
}

/// The answer that ends the wait; `None` if it goes on.
pub(super) fn done(group: &GroupView, answer: &Answer) -> Result<Option<Answer>, Failure> {
    if group.is_active() {
        let detail = format!("{} is active: new sessions begin there", group.name);
        return Err(
            Failure::new(Exit::Refused, "refused", detail).advice(format!(
                "end them first: gateway rollout drain {}",
                group.name
            )),
        );
    }
    Ok(group.drained.then(|| answer.clone()))
}
