//! `[analysis]`: what is held against the sessions of a group.

use std::time::Duration;

use tower_affinity::wire::PathPattern;

use super::section::Section;
use super::span::Bounds;

/// What is held against the sessions of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Analysis {
    /// A session is slow if the head of an answer takes longer.
    pub slow: Duration,
    /// Where a redirect means that somebody has to sign in, up to 64.
    pub login: Vec<PathPattern>,
}

pub(super) fn read(analysis: &Section<'_>) -> Analysis {
    let slow = analysis.field("slow");
    let slow = slow.and_then(|field| field.duration(&SLOW));
    let login = analysis.field("login");
    let login = login.and_then(|field| field.items(MAX_LOGIN, PATHS));
    let login = login.unwrap_or_default();
    let login = login
        .iter()
        .filter_map(|item| item.parsed(PATH, |text| text.parse().ok()))
        .collect();
    analysis.finish();
    Analysis {
        slow: slow.unwrap_or(Duration::from_secs(1)),
        login,
    }
}

const SLOW: Bounds = Bounds::millis(1, 86_400_000);
const MAX_LOGIN: usize = 64;
const PATHS: &str = "paths";
const PATH: &str = "an absolute path such as \"/login\", or \"/sso/*\" for everything below it";
