//! [`Call`]: one question to an admin side, or one order.

use http::Method;
use serde_json::Value;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<String>,
    pub(super) if_match: Option<u64>,
    /// Whether it may be asked of another admin side when one took it and said nothing.
    pub(super) repeatable: bool,
}

impl Call {
    /// Reads something.
    pub(crate) fn get(path: &str) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            body: None,
            if_match: None,
            repeatable: true,
        }
    }

    /// Asks with a body; changes nothing.
    pub(crate) fn ask(path: &str, body: &Value) -> Self {
        Self {
            method: Method::POST,
            body: Some(body.to_string()),
            ..Self::get(path)
        }
    }

    /// Changes something.
    pub(crate) fn change(method: Method, path: &str, body: &Value) -> Self {
        Self {
            method,
            repeatable: false,
            ..Self::ask(path, body)
        }
    }

    /// Only if the rollout has this revision.
    pub(crate) fn if_match(self, revision: Option<u64>) -> Self {
        Self {
            if_match: revision,
            ..self
        }
    }

    /// Doing it twice is as good as doing it once.
    pub(crate) fn idempotent(self) -> Self {
        Self {
            repeatable: true,
            ..self
        }
    }

    /// Asks what a change would do, and changes nothing.
    pub(crate) fn preview(self) -> Self {
        Self {
            path: format!("{}?preview=true", self.path),
            repeatable: true,
            ..self
        }
    }

    /// Reading on loopback needs no token.
    pub(super) fn needs_token(&self) -> bool {
        self.method != Method::GET
    }
}

/// As tests read it: method, path, expected revision, body.
#[cfg(test)]
impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if let Some(revision) = self.if_match {
            write!(f, " if {revision}")?;
        }
        write!(f, " {}", self.body.as_deref().unwrap_or_default())
    }
}
