//! `[analysis]`: what is held against the sessions of a group.

use std::time::Duration;

use tower_affinity::core::analysis::{Measure, Measures, Terms};
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
    /// On what terms a canary is judged.
    pub terms: Terms,
    /// Whether a canary that is worse is aborted.
    pub abort_on_worse: bool,
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
    let terms = terms(analysis);
    let abort = analysis.field("abort_on_worse");
    let abort = abort.and_then(|field| field.flag());
    analysis.finish();
    Analysis {
        slow: slow.unwrap_or(Duration::from_secs(1)),
        login,
        terms: terms.unwrap_or_default(),
        abort_on_worse: abort.unwrap_or(false),
    }
}

/// The terms; `None` if they are refused.
fn terms(analysis: &Section<'_>) -> Option<Terms> {
    let default = Terms::default();
    let number = |name, most, default| {
        let field = analysis.field(name);
        field.map_or(Some(default), |field| field.number(0.0, most))
    };
    let effect = number("min_effect", MOST_EFFECT, default.min_effect());
    let alpha = number("alpha", MOST_ALPHA, default.alpha());
    let measures = analysis.field("measures");
    let measures = measures.map_or(Some(default.measures()), |field| {
        let words = Measure::ALL.map(|measure| (measure.name(), measure));
        let items = field.items(words.len(), MEASURES)?;
        let named: Option<Vec<_>> = items.iter().map(|item| item.word(&words)).collect();
        let measures = Measures::of(&named?);
        if measures.is_none() {
            field.refuse("names none; accepted: at least one measure");
        }
        measures
    });
    Some(Terms::new(effect?, alpha?).ok()?.on(measures?))
}

const SLOW: Bounds = Bounds::millis(1, 86_400_000);
const MAX_LOGIN: usize = 64;
const MOST_EFFECT: f64 = 0.5;
const MOST_ALPHA: f64 = 0.2;
const MEASURES: &str = "measures: \"failures\", \"completions\", \"slow\"";
const PATHS: &str = "paths";
const PATH: &str = "an absolute path such as \"/login\", or \"/sso/*\" for everything below it";
