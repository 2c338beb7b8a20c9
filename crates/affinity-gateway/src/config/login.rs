//! Who a server lets in: a user, and a password from elsewhere.

use super::Sources;
use super::field::Field;
use super::secret::Secret;
use super::section::Section;
use super::source::{KeySource, MAX_KEY_TEXT};

/// How the gateway logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Login {
    /// The user; the server's default user if none is named.
    pub user: Option<String>,
    /// Where the password is read.
    pub source: KeySource,
    /// The password.
    pub password: Secret,
}

/// Reads `user` and `password`; `None` if there is neither, or one that cannot be used.
pub(super) fn read(section: &Section<'_>, sources: &Sources<'_>) -> Option<Login> {
    let user = section.field("user");
    let password = section.field("password");
    if user.is_some() && password.is_none() {
        section.missing("password", FORM);
    }
    let user = user.map(|field| field.parsed(USER, |text| is_user(text).then(|| text.to_owned())));
    let Line { source, held } = line(&password?, sources)?;
    Some(Login {
        user: match user {
            Some(user) => Some(user?),
            None => None,
        },
        source,
        password: held,
    })
}

/// One line from elsewhere, which no message shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Where it is read.
    pub source: KeySource,
    /// What it says.
    pub held: Secret,
}

/// Reads the line whose source a field names; `None` if there is none that can be used.
pub(super) fn line(field: &Field<'_>, sources: &Sources<'_>) -> Option<Line> {
    let field = field.clone().unseen();
    let text = field.text(FORM)?;
    let Some(held) = KeySource::read(text, sources) else {
        // whatever stands here may be the secret itself
        field.refuse(format!("is no source; accepted: {FORM}"));
        return None;
    };
    match held.and_then(|(source, held)| Ok((source, one_line(&held)?))) {
        Ok((source, held)) => Some(Line { source, held }),
        Err(why) => {
            field.refuse(format!("cannot be used: {why}; accepted: {HOLDS}"));
            None
        }
    }
}

/// The one line that a source holds.
fn one_line(held: &str) -> Result<Secret, &'static str> {
    let line = held.strip_suffix('\n').unwrap_or(held);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err("it is empty");
    }
    if held.len() as u64 >= MAX_KEY_TEXT {
        return Err("it is too long");
    }
    if line.chars().any(char::is_control) {
        return Err("it has more than one line, or control characters");
    }
    Ok(Secret::new(line.as_bytes().to_vec()))
}

fn is_user(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

pub(super) const FORM: &str = "\"env:NAME\" or \"file:PATH\"";
const HOLDS: &str = "one line of at most 698 bytes";
const USER: &str = "a name of 1 to 128 characters without spaces";
