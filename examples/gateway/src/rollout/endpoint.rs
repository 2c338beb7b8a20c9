//! `gateway rollout drain-endpoint`: a mark of each replica, so each that is named is asked.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::verb::{DrainEndpoint, OneEndpoint, UndrainEndpoint};
use crate::{
    admin::{Admin, Asked, Call},
    exit::{Exit, Failure},
    output::{aligned, instant, printable, say},
};

/// What the admin side says of a mark. Times are seconds since the Unix epoch.
#[derive(Debug, Deserialize)]
pub(super) struct Marked {
    #[serde(default)]
    preview: bool,
    verb: String,
    held: String,
    changed: bool,
    endpoint: Option<Endpoint>,
    ready_others: u64,
    bound: Option<Bound>,
}

#[derive(Debug, Deserialize)]
struct Endpoint {
    state: String,
    in_flight: u64,
}

#[derive(Debug, Deserialize)]
struct Bound {
    at_most: u64,
    last_expiry: Option<u64>,
}

impl DrainEndpoint {
    pub(super) fn run(&self, admin: &Admin, json: bool) -> Result<(), Failure> {
        perform(admin, &self.call(), json)
    }

    pub(super) fn call(&self) -> Call {
        self.one.call("drain", &json!({ "force": self.force }))
    }
}

impl UndrainEndpoint {
    pub(super) fn run(&self, admin: &Admin, json: bool) -> Result<(), Failure> {
        perform(admin, &self.call(), json)
    }

    pub(super) fn call(&self) -> Call {
        self.one.call("undrain", &json!({}))
    }
}

impl OneEndpoint {
    fn call(&self, verb: &str, body: &Value) -> Call {
        let Self {
            group,
            address,
            seen,
        } = self;
        let path = format!("/v1/groups/{group}/endpoints/{address}/{verb}");
        let call = Call::change(Method::POST, &path, body).idempotent();
        let call = call.if_match(seen.if_match);
        if seen.preview { call.preview() } else { call }
    }
}

fn perform(admin: &Admin, call: &Call, json: bool) -> Result<(), Failure> {
    let asked = admin.ask_each(call)?;
    if asked.iter().any(|one| one.answer.is_ok()) {
        let text = match json {
            true => as_json(&asked)?,
            false => told(&asked)?,
        };
        say(&text)?;
    }
    conclude(asked)
}

/// The answer of the only one as it came, or what each of several answered.
fn as_json(asked: &[Asked]) -> Result<String, Failure> {
    if let [
        Asked {
            answer: Ok(answer), ..
        },
    ] = asked
    {
        return Ok(answer.text().to_owned());
    }
    let each = asked.iter().map(|Asked { place, answer }| {
        let place = place.to_string();
        Ok(match answer {
            Ok(answer) => json!({ "admin": place, "answer": answer.read::<Value>()? }),
            Err(failure) => json!({ "admin": place, "error": failure.problem }),
        })
    });
    let each = each.collect::<Result<Vec<_>, Failure>>()?;
    Ok(json!({ "replicas": each }).to_string())
}

/// A line for each replica.
fn told(asked: &[Asked]) -> Result<String, Failure> {
    if let [
        Asked {
            answer: Ok(answer), ..
        },
    ] = asked
    {
        return Ok(answer.read::<Marked>()?.told_alone());
    }
    let rows = asked.iter().map(|Asked { place, answer }| {
        let line = match answer {
            Ok(answer) => answer.read::<Marked>()?.told(),
            Err(failure) => printable(&format!("not done: {}", failure.problem.detail)),
        };
        Ok([place.to_string(), line])
    });
    Ok(aligned(&rows.collect::<Result<Vec<_>, Failure>>()?))
}

impl Marked {
    /// What became of it, and what is left there.
    pub(super) fn told(&self) -> String {
        let Self { verb, changed, .. } = self;
        let done = match (self.preview, changed) {
            (true, true) => format!("preview of {verb}, nothing is changed"),
            (true, false) => format!("preview of {verb}, nothing to change"),
            (false, true) => "done".to_owned(),
            (false, false) => "nothing to change".to_owned(),
        };
        let now = match &self.endpoint {
            Some(endpoint) => format!("{}, {} in flight", endpoint.state, endpoint.in_flight),
            None => "not among its endpoints now".to_owned(),
        };
        let mut parts = vec![now, format!("{} others ready", self.ready_others)];
        if let Some(Bound {
            at_most,
            last_expiry,
        }) = &self.bound
        {
            let end = last_expiry.map(|end| format!(" (the last pin ends {})", instant(end)));
            let end = end.unwrap_or_default();
            parts.push(format!("at most {at_most} sessions bound to it{end}"));
        }
        printable(&format!("{done}: {}", parts.join(", ")))
    }

    /// The same, where nobody else was asked.
    pub(super) fn told_alone(&self) -> String {
        let line = self.told();
        if self.preview || self.held != "replica" {
            return line;
        }
        format!("{line}\nthe other replicas were not told: name each with --admin URL")
    }
}

/// Done if each has done it.
fn conclude(asked: Vec<Asked>) -> Result<(), Failure> {
    let all = asked.len();
    let (mut lacking, mut first) = (Vec::new(), None);
    for Asked { place, answer } in asked {
        if let Err(failure) = answer {
            lacking.push(place.to_string());
            first.get_or_insert(failure);
        }
    }
    match first {
        None => Ok(()),
        Some(failure) if lacking.len() == all => Err(failure),
        Some(failure) => {
            let names = lacking.join(", ");
            let detail = format!("not done at {names}: {}", failure.problem.detail);
            let failure = Failure::new(Exit::HereOnly, &failure.problem.kind, detail);
            Err(failure.advice("repeat it: where it is done already nothing changes"))
        }
    }
}
