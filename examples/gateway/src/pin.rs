//! `gateway pin`: says what a pin says, and makes pins and overrides for testers.

use std::{
    io::{self, Read},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::json;

use crate::{
    admin::{Admin, Call},
    exit::{Failure, conclude},
    output::{aligned, instant, printable, say},
};

/// Look into pins, and make them
#[derive(Args, Debug)]
pub(crate) struct Pin {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Inspect(Inspect),
    Mint(Mint),
}

/// Print what a pin says, as a running gateway understands it
#[derive(Args, Debug)]
struct Inspect {
    /// The value of the pin's cookie or header; - reads it from stdin
    token: String,
    #[command(flatten)]
    admin: Admin,
    /// Print the admin side's JSON on stdout; errors as JSON on stderr
    #[arg(long)]
    json: bool,
}

/// Make a pin or an override for testers
#[derive(Args, Debug)]
struct Mint {
    /// The group that it names
    #[arg(long)]
    group: String,
    /// Make an override: it chooses the group for the requests that show it
    #[arg(long = "override", requires = "ttl")]
    overrides: bool,
    /// Let the override begin a session, which outlasts it
    #[arg(long, requires = "overrides")]
    sticky: bool,
    /// How long the override lives, at most 24h
    #[arg(long, requires = "overrides")]
    ttl: Option<String>,
    #[command(flatten)]
    admin: Admin,
    /// Print the admin side's JSON on stdout; errors as JSON on stderr
    #[arg(long)]
    json: bool,
}

impl Pin {
    pub(crate) fn run(self) -> ExitCode {
        match self.verb {
            Verb::Inspect(inspect) => conclude(inspect.json, inspect.perform()),
            Verb::Mint(mint) => conclude(mint.json, mint.perform()),
        }
    }
}

impl Mint {
    fn perform(&self) -> Result<(), Failure> {
        let mut wish = json!({ "group": self.group });
        if self.overrides {
            wish = json!({
                "group": self.group, "override": true, "sticky": self.sticky, "ttl": self.ttl,
            });
        }
        let answer = self.admin.ask(&Call::ask("/v1/pins/mint", &wish))?;
        if self.json {
            return Ok(say(answer.text())?);
        }
        let minted: Minted = answer.read()?;
        Ok(say(&printable(&minted.token))?)
    }
}

/// What the admin side made.
#[derive(Debug, Deserialize)]
struct Minted {
    token: String,
}

impl Inspect {
    fn perform(&self) -> Result<(), Failure> {
        let token = match self.token.as_str() {
            "-" => piped(io::stdin().lock())?,
            token => token.to_owned(),
        };
        let call = Call::ask("/v1/pins/inspect", &json!({ "token": token }));
        let answer = self.admin.ask(&call)?;
        if self.json {
            return Ok(say(answer.text())?);
        }
        Ok(say(&told(&answer.read()?))?)
    }
}

/// Far above any pin, so that a wrong file is not read for ever.
const MAX_TOKEN: u64 = 64 << 10;

fn piped(input: impl Read) -> io::Result<String> {
    let mut text = String::new();
    input.take(MAX_TOKEN).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Inspected {
    Valid {
        key: String,
        session: String,
        group: String,
        group_state: String,
        endpoint: Option<String>,
        started: u64,
        issued: u64,
        expires: u64,
        revision: u64,
        assigned_revision: u64,
        moves: u32,
        moved_from: Option<Moved>,
    },
    Invalid {
        cause: String,
    },
}

#[derive(Debug, Deserialize)]
struct Moved {
    group: String,
    at: u64,
    cause: String,
}

fn told(inspected: &Inspected) -> String {
    let lines = match inspected {
        Inspected::Invalid { cause } => vec![("invalid", cause.clone())],
        Inspected::Valid {
            key,
            session,
            group,
            group_state,
            endpoint,
            started,
            issued,
            expires,
            revision,
            assigned_revision,
            moves,
            moved_from,
        } => {
            let mut lines = vec![
                ("session", session.clone()),
                ("group", format!("{group} ({group_state})")),
                ("started", instant(*started)),
                ("issued", instant(*issued)),
                ("expires", instant(*expires)),
                (
                    "revision",
                    format!("{revision} (assigned under {assigned_revision})"),
                ),
                ("moves", moves.to_string()),
            ];
            if let Some(endpoint) = endpoint {
                lines.insert(2, ("endpoint", endpoint.clone()));
            }
            if let Some(Moved { group, at, cause }) = moved_from {
                lines.push((
                    "moved",
                    format!("from {group} at {} ({cause})", instant(*at)),
                ));
            }
            lines.push(("key", key.clone()));
            lines
        }
    };
    let rows: Vec<_> = lines
        .iter()
        .map(|(name, value)| [(*name).to_owned(), printable(value)])
        .collect();
    aligned(&rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_valid_pin_is_told_line_by_line() {
        let answer = json!({
            "valid": true, "key": "2026-11", "session": "s1", "group": "c3d4e5f",
            "group_state": "active", "started": 0, "issued": 60, "expires": 1860, "revision": 42,
            "assigned_revision": 41, "moves": 1,
            "moved_from": { "group": "9f1c2ab", "at": 30, "cause": "aborted" },
        });
        assert_eq!(
            told(&serde_json::from_value(answer).unwrap()),
            "\
session   s1
group     c3d4e5f (active)
started   1970-01-01T00:00:00Z
issued    1970-01-01T00:01:00Z
expires   1970-01-01T00:31:00Z
revision  42 (assigned under 41)
moves     1
moved     from 9f1c2ab at 1970-01-01T00:00:30Z (aborted)
key       2026-11"
        );
    }

    #[test]
    fn a_pin_that_is_bound_to_an_endpoint_is_told_with_it() {
        let answer = json!({
            "valid": true, "key": "2026-11", "session": "s1", "group": "c3d4e5f",
            "group_state": "active", "endpoint": "10.0.0.7:8080", "started": 0, "issued": 60,
            "expires": 1860, "revision": 42, "assigned_revision": 41, "moves": 0,
        });
        let told = told(&serde_json::from_value(answer).unwrap());
        let lines: Vec<_> = told.lines().skip(1).take(2).collect();
        assert_eq!(
            lines,
            ["group     c3d4e5f (active)", "endpoint  10.0.0.7:8080"]
        );
    }

    #[test]
    fn an_invalid_pin_is_told_with_its_cause() {
        let answer = json!({ "valid": false, "cause": "bad_signature" });
        assert_eq!(
            told(&serde_json::from_value(answer).unwrap()),
            "invalid  bad_signature"
        );
    }

    #[test]
    fn a_piped_token_loses_the_end_of_its_line() {
        assert_eq!(piped(&b"eyJ.abc.def\n"[..]).unwrap(), "eyJ.abc.def");
    }
}
