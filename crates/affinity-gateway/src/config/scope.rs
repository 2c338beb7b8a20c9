//! `[[scope]]`: which paths are bound how strongly.

use tower_affinity::core::{Level, OnGone};

use super::cookie;
use super::field::Field;
use super::section::Section;

/// What one set of paths asks for; the first scope that matches counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScopeSetting {
    /// The paths: `/a/b` is that path alone, `/a/*` everything below `/a/`, `/*` everything.
    pub path: PathPattern,
    /// How strongly its requests are bound.
    pub affinity: Level,
    /// What a first request is drawn by.
    pub assign: Assign,
    /// What happens to a session whose group is gone.
    pub on_gone: OnGone,
    /// Which answers are kept from shared caches.
    pub cache: Cache,
    /// Whether a response of this scope is a stream, so that its pin lasts for all of `max_age`.
    pub streaming: bool,
    /// Where a navigation goes whose session was ended by us; an absolute path.
    pub restart_url: Option<String>,
}

/// What a first request is drawn by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assign {
    /// A fresh session id.
    #[default]
    Session,
    /// The value of this request header, in lower case.
    Header(String),
    /// The value of this cookie.
    Cookie(String),
    /// The client's network.
    Address,
}

/// Which answers are kept from shared caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cache {
    /// All that a shared cache may store.
    #[default]
    Private,
    /// Only those that set a pin.
    Keep,
}

/// A path, or all paths below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(String);

impl PathPattern {
    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern covers `path` (without its query).
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == self.0,
        }
    }

    /// Whether every path of `other` is one of this pattern.
    fn covers(&self, other: &Self) -> bool {
        match (self.0.strip_suffix('*'), other.0.strip_suffix('*')) {
            (_, None) => self.matches(&other.0),
            (Some(prefix), Some(below)) => below.starts_with(prefix),
            (None, Some(_)) => false,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let fixed = text
            .strip_suffix('*')
            .filter(|below| below.ends_with('/'))
            .unwrap_or(text);
        absolute_path(fixed)?;
        (!fixed.contains(['*', '?'])).then(|| Self(text.to_owned()))
    }
}

pub(super) fn read(root: &Section<'_>, pin_cookie: &str) -> Vec<ScopeSetting> {
    let mut scopes: Vec<ScopeSetting> = Vec::new();
    for section in root.sections("scope", MAX_SCOPES) {
        let Some(scope) = one(&section, pin_cookie) else {
            continue;
        };
        if let Some(earlier) = scopes
            .iter()
            .find(|earlier| earlier.path.covers(&scope.path))
        {
            section.refuse(
                "path",
                format!(
                    "is never reached, since the scope \"{}\" before it covers \"{}\"; accepted: the \
                     narrower scope first",
                    earlier.path.as_str(),
                    scope.path.as_str()
                ),
            );
        }
        scopes.push(scope);
    }
    if root.field("scope").is_none() {
        scopes.push(everything());
    }
    scopes
}

/// The one scope of a file that names none.
fn everything() -> ScopeSetting {
    ScopeSetting {
        path: PathPattern("/*".to_owned()),
        affinity: Level::default(),
        assign: Assign::default(),
        on_gone: OnGone::default(),
        cache: Cache::default(),
        streaming: false,
        restart_url: None,
    }
}

fn one(section: &Section<'_>, pin_cookie: &str) -> Option<ScopeSetting> {
    let path = section.required("path", PATTERN);
    let path = path.and_then(|field| field.parsed(PATTERN, PathPattern::parse));
    let affinity = section
        .field("affinity")
        .and_then(|f| f.word(&LEVELS, &["endpoint", "version"]));
    let assign = section
        .field("assign")
        .and_then(|field| assign(&field, pin_cookie));
    let on_gone = section
        .field("on_gone")
        .and_then(|field| field.word(&ON_GONE, &[]));
    let cache = section
        .field("cache")
        .and_then(|field| field.word(&CACHE, &[]));
    let streaming = section.field("streaming").and_then(|field| field.flag());
    let restart = section
        .field("restart_url")
        .and_then(|field| field.parsed(PATH, absolute_path));
    if let Some(field) = section.field("on_step") {
        field.word(&[("keep", ())], &["reassign"]);
    }
    if let Some(field) = section.field("propagate")
        && field.flag() == Some(true)
    {
        field.refuse("is not supported by this version; accepted: false");
    }
    section.finish();
    let scope = ScopeSetting {
        path: path?,
        affinity: affinity.unwrap_or_default(),
        assign: assign.unwrap_or_default(),
        on_gone: on_gone.unwrap_or_default(),
        cache: cache.unwrap_or_default(),
        streaming: streaming.unwrap_or(false),
        restart_url: restart,
    };
    refuse_without_effect(section, &scope);
    Some(scope)
}

/// A setting that could not take effect is refused, since nobody would find out.
fn refuse_without_effect(section: &Section<'_>, scope: &ScopeSetting) {
    let (level, writes) = match scope.affinity {
        Level::None => ("none", false),
        Level::Follow => ("follow", false),
        Level::Connection => ("connection", true),
        Level::Group => return,
    };
    let without = [
        ("assign", scope.assign != Assign::Session),
        ("on_gone", scope.on_gone != OnGone::Move),
        ("restart_url", scope.restart_url.is_some()),
        ("cache", !writes && scope.cache != Cache::Private),
        ("streaming", !writes && scope.streaming),
    ];
    for (key, _) in without.into_iter().filter(|(_, wrong)| *wrong) {
        section.refuse(
            key,
            format!("has no effect with affinity = \"{level}\"; accepted: without it"),
        );
    }
}

fn assign(field: &Field<'_>, pin_cookie: &str) -> Option<Assign> {
    let text = field.text(ASSIGN)?;
    match text.split_once(':') {
        None if text == "session" => return Some(Assign::Session),
        None if text == "address" => return Some(Assign::Address),
        None if text == "least_loaded" => field.refuse("is not supported by this version"),
        Some(("claim", _)) => field.refuse("is not supported by this version"),
        Some(("header", name)) => match header(name) {
            Some(name) => return Some(Assign::Header(name)),
            None => field.refuse(format!("accepted: {HEADER}")),
        },
        Some(("cookie", name)) if name == pin_cookie => {
            field.refuse("is the cookie of the pin itself; accepted: another cookie");
        }
        Some(("cookie", name)) => match cookie::valid_name(name) {
            Some(name) => return Some(Assign::Cookie(name)),
            None => field.refuse(format!("accepted: \"cookie:NAME\" with {}", cookie::NAME)),
        },
        _ => field.refuse(format!("accepted: {ASSIGN}")),
    }
    None
}

/// A header that can name a user: ours are removed before anybody reads them, those of the
/// connection say nothing about the client, and `cookie` is a bag of others.
fn header(name: &str) -> Option<String> {
    let name = http::HeaderName::try_from(name).ok()?;
    let name = name.as_str();
    let other = [
        "connection",
        "cookie",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let ours = name.starts_with("affinity-") || name.starts_with("affinity_");
    (name.len() <= 64 && !ours && !other.contains(&name)).then(|| name.to_owned())
}

/// An absolute path on this host: a browser reads `//x` and `/\x` as another host.
pub(super) fn absolute_path(text: &str) -> Option<String> {
    let rest = text.strip_prefix('/')?;
    let visible = text
        .bytes()
        .all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&b));
    let dots = text
        .split(['/', '?'])
        .any(|segment| segment == "." || segment == "..");
    (text.len() <= MAX_PATH && visible && !rest.starts_with('/') && !dots).then(|| text.to_owned())
}

const LEVELS: [(&str, Level); 4] = [
    ("none", Level::None),
    ("follow", Level::Follow),
    ("connection", Level::Connection),
    ("group", Level::Group),
];
pub(super) const ON_GONE: [(&str, OnGone); 2] =
    [("move", OnGone::Move), ("strict", OnGone::Strict)];
pub(super) const CACHE: [(&str, Cache); 2] = [("private", Cache::Private), ("keep", Cache::Keep)];
const ASSIGN: &str = "\"session\", \"header:NAME\", \"cookie:NAME\", \"address\"";
const HEADER: &str = "\"header:NAME\" with a header of the client, not one of the connection, \"cookie\", or \"affinity-…\"";
const PATTERN: &str = "an absolute path such as \"/a/b\", or one with \"/*\" at its end";
pub(super) const PATH: &str =
    "an absolute path of visible ASCII that begins with a single \"/\", without \"..\" or \"#\"";
const MAX_PATH: usize = 512;
const MAX_SCOPES: usize = 256;
