//! How a verb ends: its exit code, and what is told when it was not done.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::output::printable;

/// Why a verb was not done; the numbers are the exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It went wrong.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// No answer came in time.
    TimedOut = 3,
    /// A rule forbids it.
    Refused = 4,
    /// It was done, on the asked replica only.
    HereOnly = 5,
}

/// A problem as the admin side describes it (RFC 9457); our own have the same form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problem {
    /// Stable, for machines.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// For people.
    pub(crate) detail: String,
    /// Whether `--force` lifts a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) can_be_forced: Option<bool>,
    /// What else a problem says is passed on to machines.
    #[serde(flatten)]
    pub(crate) more: Map<String, Value>,
}

/// A verb that was not done.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    // boxed: results are as large as their errors
    pub(crate) problem: Box<Problem>,
    /// What to do about it, if the problem does not say so itself.
    pub(crate) advice: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, kind: &str, detail: impl Into<String>) -> Self {
        let problem = Box::new(Problem {
            kind: kind.to_owned(),
            detail: detail.into(),
            ..Problem::default()
        });
        Self {
            exit,
            problem,
            advice: None,
        }
    }

    pub(crate) fn advice(self, advice: impl Into<String>) -> Self {
        Self {
            advice: Some(advice.into()),
            ..self
        }
    }

    /// What is written to stderr.
    fn told(&self, as_json: bool) -> String {
        if as_json {
            return json!({ "error": self.problem }).to_string();
        }
        let Problem { title, detail, .. } = &*self.problem;
        let mut text = "gateway: ".to_owned();
        if !title.is_empty() && title != detail {
            text.push_str(&printable(title));
            text.push_str(": ");
        }
        text.push_str(&printable(detail));
        if let Some(advice) = &self.advice {
            text.push_str("; ");
            text.push_str(advice);
        }
        text
    }
}

impl From<io::Error> for Failure {
    /// For the console and the runtime; whatever else fails is named where it fails.
    fn from(error: io::Error) -> Self {
        Self::new(Exit::Failed, "input-output", error.to_string())
    }
}

/// Tells a failure on stderr; the exit code of the verb.
pub(crate) fn conclude(as_json: bool, ended: Result<(), Failure>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // if stderr is closed nobody is left to be told
            let _ = writeln!(io::stderr(), "{}", failure.told(as_json));
            ExitCode::from(failure.exit as u8)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn each_end_has_its_exit_code() {
        let codes =
            [Exit::Failed, Exit::Usage, Exit::TimedOut, Exit::Refused].map(|exit| exit as u8);
        assert_eq!(codes, [1, 2, 3, 4]);
    }

    #[test]
    fn a_person_reads_one_line_without_control_characters() {
        let failure = Failure::new(Exit::Failed, "refused", "red \u{1b}[31m\nline").advice("wait");
        assert_eq!(failure.told(false), "gateway: red \\u{1b}[31m\\nline; wait");
    }

    #[test]
    fn a_problem_is_told_with_its_title_once() {
        let mut failure = Failure::new(Exit::Refused, "refused", "b is stable");
        failure.problem.title = "a rule forbids it".to_owned();
        assert_eq!(
            failure.told(false),
            "gateway: a rule forbids it: b is stable"
        );
        failure.problem.detail = failure.problem.title.clone();
        assert_eq!(failure.told(false), "gateway: a rule forbids it");
    }

    #[test]
    fn a_machine_reads_all_that_the_problem_said() {
        let text = r#"{"type":"refused","title":"no","status":409,"detail":"why","can_be_forced":true,"by":7}"#;
        let failure = Failure {
            exit: Exit::Refused,
            problem: serde_json::from_str(text).unwrap(),
            advice: None,
        };
        let told: Value = serde_json::from_str(&failure.told(true)).unwrap();
        assert_eq!(told["error"], serde_json::from_str::<Value>(text).unwrap());
    }
}
