//! `[[scope]]`: which paths are bound how strongly.

use std::time::Duration;

use http::{HeaderName, header};
use tower_affinity::core::{Level, OnGone, OnNavigation, OnStep};
use tower_affinity::wire::{AssignBy, CachePolicy, HintSource, PathPattern, Scope};

use super::field::Field;
use super::limits::BODY;
use super::section::Section;
use super::upstream::{IDLE, RESPONSE, TOTAL, Upstream};
use crate::upstream::Limits;

/// What one set of paths asks for; the first scope that matches counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScopeSetting {
    /// The paths: `/a/b` is that path alone, `/a/*` everything below `/a/`, `/*` everything.
    pub path: PathPattern,
    /// How strongly its requests are bound.
    pub affinity: Level,
    /// What a first request is drawn by.
    pub assign: AssignBy,
    /// What happens to a session whose group is gone.
    pub on_gone: OnGone,
    /// What a changed weight means for its sessions.
    pub on_step: OnStep,
    /// What a full page load means for the session of a group that drains.
    pub on_navigation: OnNavigation,
    /// Where a request may name the group that serves it; only at level `follow`.
    pub hint: Option<HintSource>,
    /// Which answers are kept from shared caches.
    pub cache: CachePolicy,
    /// Whether a response of this scope is a stream, so that its pin lasts for all of `max_age`.
    pub streaming: bool,
    /// Whether its sessions go on to services further down.
    pub propagate: bool,
    /// Where a navigation goes whose session was ended by us; an absolute path.
    pub restart_url: Option<String>,
    /// How long an endpoint may take until its response head; `None`: as `[upstream]` says.
    pub response_timeout: Option<Duration>,
    /// How long an answer's body may bring nothing; `None`: as `[upstream]` says, or for ever if
    /// the scope is streaming.
    pub idle_timeout: Option<Duration>,
    /// How long a whole exchange may take; `None`: as `[upstream]` says.
    pub total_timeout: Option<Duration>,
    /// How many bytes the body of a request may have; `None`: as `[listen]` says.
    pub max_body: Option<u64>,
}

impl ScopeSetting {
    /// The scope as the layers take it.
    #[must_use]
    pub fn scope(&self) -> Scope {
        let scope = Scope::new(self.path.clone())
            .level(self.affinity)
            .assign(self.assign.clone())
            .on_gone(self.on_gone)
            .on_step(self.on_step)
            .on_navigation(self.on_navigation)
            .cache(self.cache)
            .streaming(self.streaming)
            .propagate(self.propagate);
        let scope = match &self.restart_url {
            Some(url) => scope.restart_url(url.clone()),
            None => scope,
        };
        match &self.hint {
            Some(hint) => scope.hint(hint.clone()),
            None => scope,
        }
    }

    /// How long its exchanges may take.
    #[must_use]
    pub fn limits(&self, upstream: &Upstream) -> Limits {
        let otherwise = (!self.streaming).then_some(upstream.idle_timeout);
        Limits::default()
            .response(self.response_timeout.unwrap_or(upstream.response_timeout))
            .idle(self.idle_timeout.or(otherwise))
            .total(self.total_timeout.or(upstream.total_timeout))
    }
}

pub(super) fn read(root: &Section<'_>, pin_cookie: Option<&str>) -> Vec<ScopeSetting> {
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
                    earlier.path,
                    scope.path
                ),
            );
        }
        scopes.push(scope);
    }
    if scopes.is_empty() {
        scopes.push(everything());
    }
    scopes
}

/// The one scope of a file that names none.
fn everything() -> ScopeSetting {
    ScopeSetting {
        path: PathPattern::all(),
        affinity: Level::default(),
        assign: AssignBy::default(),
        on_gone: OnGone::default(),
        on_step: OnStep::default(),
        on_navigation: OnNavigation::default(),
        hint: None,
        cache: CachePolicy::default(),
        streaming: false,
        propagate: false,
        restart_url: None,
        response_timeout: None,
        idle_timeout: None,
        total_timeout: None,
        max_body: None,
    }
}

fn one(section: &Section<'_>, pin_cookie: Option<&str>) -> Option<ScopeSetting> {
    let path = section.required("path", PATTERN);
    let path = path.and_then(|field| field.parsed(PATTERN, pattern));
    let affinity = section.field("affinity").and_then(|f| f.word(&LEVELS));
    let assign = section
        .field("assign")
        .and_then(|field| assign(&field, pin_cookie));
    let on_gone = section
        .field("on_gone")
        .and_then(|field| field.word(&ON_GONE));
    let on_step = section
        .field("on_step")
        .and_then(|field| field.word(&ON_STEP));
    let on_navigation = section
        .field("on_navigation")
        .and_then(|field| field.word(&ON_NAVIGATION));
    let hint = section.field("hint").and_then(|field| hint(&field));
    let cache = section.field("cache").and_then(|field| field.word(&CACHES));
    let streaming = section.field("streaming").and_then(|field| field.flag());
    let restart = section
        .field("restart_url")
        .and_then(|field| field.parsed(PATH, absolute_path));
    let span = |name, bounds| {
        let field = section.field(name);
        field.and_then(|field| field.duration(bounds))
    };
    let response_timeout = span("response_timeout", &RESPONSE);
    let idle_timeout = span("idle_timeout", &IDLE);
    let total_timeout = span("total_timeout", &TOTAL);
    let max_body = section
        .field("max_body")
        .and_then(|field| field.integer(&BODY));
    let propagate = section.field("propagate").and_then(|field| {
        let propagate = field.flag()?;
        // the pin that is handed on would have to name an endpoint before one has answered
        if propagate && affinity == Some(Level::Endpoint) {
            field.refuse("cannot be with affinity = \"endpoint\"; accepted: false");
        }
        Some(propagate)
    });
    section.finish();
    let scope = ScopeSetting {
        path: path?,
        affinity: affinity.unwrap_or_default(),
        assign: assign.unwrap_or_default(),
        on_gone: on_gone.unwrap_or_default(),
        on_step: on_step.unwrap_or_default(),
        on_navigation: on_navigation.unwrap_or_default(),
        hint,
        cache: cache.unwrap_or_default(),
        streaming: streaming.unwrap_or(false),
        propagate: propagate.unwrap_or(false),
        restart_url: restart,
        response_timeout,
        idle_timeout,
        total_timeout,
        max_body,
    };
    refuse_without_effect(section, &scope);
    Some(scope)
}

/// A setting that could not take effect is refused, since nobody would find out.
fn refuse_without_effect(section: &Section<'_>, scope: &ScopeSetting) {
    let level = scope.affinity;
    let (bare, writes) = (
        !level.has_session(),
        !matches!(level, Level::None | Level::Follow),
    );
    let without = [
        ("assign", bare && scope.assign != AssignBy::Session),
        ("on_gone", bare && scope.on_gone != OnGone::Move),
        ("on_step", bare && scope.on_step != OnStep::Keep),
        (
            "on_navigation",
            bare && scope.on_navigation != OnNavigation::Keep,
        ),
        ("restart_url", bare && scope.restart_url.is_some()),
        // no pin is issued that could go on
        ("propagate", bare && scope.propagate),
        ("cache", !writes && scope.cache != CachePolicy::Private),
        ("streaming", !writes && scope.streaming),
        ("hint", level != Level::Follow && scope.hint.is_some()),
    ];
    let words = LEVELS.iter().find(|(_, known)| *known == level);
    let level = words.map_or("", |(word, _)| word);
    for (key, _) in without.into_iter().filter(|(_, wrong)| *wrong) {
        section.refuse(
            key,
            format!("has no effect with affinity = \"{level}\"; accepted: without it"),
        );
    }
}

fn assign(field: &Field<'_>, pin_cookie: Option<&str>) -> Option<AssignBy> {
    let text = field.text(ASSIGN)?;
    match text.split_once(':') {
        None if text == "session" => return Some(AssignBy::Session),
        None if text == "address" => return Some(AssignBy::Address),
        None if text == "least_loaded" => return Some(AssignBy::LeastLoaded),
        Some(("claim", name)) if is_claim_name(name) => {
            return Some(AssignBy::Claim(name.into()));
        }
        Some(("claim", _)) => field.refuse(format!("accepted: {CLAIM}")),
        Some(("header", name)) => match client_header(name) {
            Some(name) => return Some(AssignBy::Header(name)),
            None => field.refuse(format!("accepted: {HEADER}")),
        },
        Some(("cookie", name)) if Some(name) == pin_cookie => {
            field.refuse("is the cookie of the pin itself; accepted: another cookie");
        }
        Some(("cookie", name)) if is_cookie_name(name) => {
            return Some(AssignBy::Cookie(name.into()));
        }
        Some(("cookie", _)) => field.refuse(format!("accepted: {COOKIE}")),
        _ => field.refuse(format!("accepted: {ASSIGN}")),
    }
    None
}

/// Where a request may name its group: in its query, or in a header of the client.
fn hint(field: &Field<'_>) -> Option<HintSource> {
    let ours = |name: &str| name.starts_with("affinity-");
    let is_parameter = |name: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(plain) && !ours(name)
    };
    field.parsed(HINT, |text| match text.split_once(':')? {
        ("query", name) => is_parameter(name).then(|| HintSource::Query(name.into())),
        ("header", name) => client_header(name).map(HintSource::Header),
        _ => None,
    })
}

/// A member of a token's payload: any text, so only what nobody could mean is refused.
fn is_claim_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(|c| !c.is_control())
}

/// A header that can name a user: ours are removed before anybody reads them, those of the
/// connection say nothing about the client, and `cookie` is a bag of others.
pub(super) fn client_header(name: &str) -> Option<HeaderName> {
    let name = HeaderName::try_from(name).ok()?;
    let text = name.as_str();
    let ours = text.starts_with("affinity-") || text.starts_with("affinity_");
    let no_key = [
        header::CONNECTION,
        header::COOKIE,
        header::HOST,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    (text.len() <= MAX_NAME && !ours && !no_key.contains(&name)).then_some(name)
}

/// A name of RFC 6265: a token of RFC 9110.
pub(super) fn is_cookie_name(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(token)
}

/// A pattern whose fixed part is a path that a client could ask for.
fn pattern(text: &str) -> Option<PathPattern> {
    let below = text.strip_suffix('*').filter(|below| below.ends_with('/'));
    absolute_path(below.unwrap_or(text))?;
    text.parse().ok()
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

pub(super) const LEVELS: [(&str, Level); 6] = [
    ("none", Level::None),
    ("follow", Level::Follow),
    ("connection", Level::Connection),
    ("group", Level::Group),
    ("endpoint", Level::Endpoint),
    ("version", Level::Version),
];
pub(super) const ON_GONE: [(&str, OnGone); 2] =
    [("move", OnGone::Move), ("strict", OnGone::Strict)];
pub(super) const ON_STEP: [(&str, OnStep); 2] =
    [("keep", OnStep::Keep), ("reassign", OnStep::Reassign)];
pub(super) const ON_NAVIGATION: [(&str, OnNavigation); 2] = [
    ("keep", OnNavigation::Keep),
    ("latest", OnNavigation::Latest),
];
pub(super) const CACHES: [(&str, CachePolicy); 2] = [
    ("private", CachePolicy::Private),
    ("keep", CachePolicy::Keep),
];
const ASSIGN: &str =
    "\"session\", \"header:NAME\", \"cookie:NAME\", \"claim:NAME\", \"address\", \"least_loaded\"";
const CLAIM: &str = "\"claim:NAME\" with the name of a claim, 1 to 128 bytes";
const HINT: &str = "\"query:NAME\" with NAME of A-Z a-z 0-9 . _ -, or \"header:NAME\" with a header of \
                    the client; neither begins with \"affinity-\"";
pub(super) const HEADER: &str = "\"header:NAME\" with a header of the client, not one of the connection, \"cookie\", or \"affinity-…\"";
pub(super) const COOKIE: &str = "\"cookie:NAME\" with a cookie name";
const PATTERN: &str = "an absolute path such as \"/a/b\", or one with \"/*\" at its end";
pub(super) const PATH: &str =
    "an absolute path of visible ASCII that begins with a single \"/\", without \"..\" or \"#\"";
const MAX_PATH: usize = 512;
const MAX_NAME: usize = 128;
const MAX_SCOPES: usize = 256;
