//! What each of several replicas answered to a change that the shared state could not take.

use serde_json::{Value, json};

use super::held::Held;
use crate::{
    admin::{Answer, Asked},
    exit::{Exit, Failure},
    output::{aligned, printable},
};

#[derive(Debug)]
pub(super) struct Each(Vec<One>);

#[derive(Debug)]
struct One {
    place: String,
    outcome: Result<(Answer, Held), Failure>,
}

impl Each {
    pub(super) fn read(asked: Vec<Asked>) -> Result<Self, Failure> {
        let ones = asked.into_iter().map(|Asked { place, answer }| {
            let outcome = match answer {
                Ok(answer) => {
                    let held = answer.read()?;
                    Ok((answer, held))
                }
                Err(failure) => Err(failure),
            };
            let place = place.to_string();
            Ok(One { place, outcome })
        });
        ones.collect::<Result<_, _>>().map(Self)
    }

    /// A line for each replica.
    pub(super) fn told(&self) -> String {
        let rows = self.0.iter().map(|one| {
            let note = match &one.outcome {
                Ok((_, held)) => held.note().to_owned(),
                Err(failure) => format!("not in force: {}", failure.problem.detail),
            };
            [one.place.clone(), printable(&note)]
        });
        aligned(&rows.collect::<Vec<_>>())
    }

    /// What each answered, as it came.
    pub(super) fn to_json(&self) -> Result<Value, Failure> {
        let each = self.0.iter().map(|one| {
            Ok(match &one.outcome {
                Ok((answer, _)) => json!({ "admin": one.place, "answer": answer.read::<Value>()? }),
                Err(failure) => json!({ "admin": one.place, "error": failure.problem }),
            })
        });
        Ok(json!({ "replicas": each.collect::<Result<Vec<_>, Failure>>()? }))
    }

    /// Done if one could tell all the others, or each of them keeps it.
    pub(super) fn conclude(&self) -> Result<(), Failure> {
        let held = |one: &One| {
            one.outcome
                .as_ref()
                .is_ok_and(|(_, held)| !held.is_unkept())
        };
        let told_all = self.0.iter().any(|one| {
            let answered = one.outcome.as_ref();
            answered.is_ok_and(|(_, held)| held.is_everywhere())
        });
        if told_all || self.0.iter().all(held) {
            return Ok(());
        }
        let lacking: Vec<_> = self.0.iter().filter(|one| !held(one)).collect();
        let names: Vec<_> = lacking.iter().map(|one| one.place.as_str()).collect();
        let detail = format!(
            "the shared state is out of reach, and the change is not in force, or not kept, at {}",
            names.join(", ")
        );
        Err(Failure::new(Exit::HereOnly, "out-of-reach", detail)
            .advice("repeat it until each replica has it, or until the shared state is back"))
    }
}
