//! `[traffic]`: the sessions that a plan is played on.

use std::time::Duration;

use super::spread::{Length, Think};
use crate::config::{Bounds, Section, Settings};

/// The sessions that a plan is played on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Traffic {
    /// The path of their requests, which finds their scope.
    pub path: String,
    /// How many sessions begin in a second, in the mean; their arrivals are a Poisson process.
    pub arrivals_per_second: f64,
    /// How long they are.
    pub length: Length,
    /// How often they ask.
    pub think: Think,
    /// How long sessions arrive before the plan begins, so that it begins with pinned ones.
    pub warm_up: Duration,
}

impl Traffic {
    pub(super) fn read(traffic: &Section<'_>, settings: &Settings) -> Option<Self> {
        let path = traffic.field("path");
        let path = path.map_or(Some("/"), |field| field.text(PATH));
        let arrivals = traffic.required("arrivals_per_second", "sessions that begin in a second");
        let arrivals = arrivals.and_then(|field| field.number(0.0, MOST_ARRIVALS));
        let length = Length::read(&traffic.section("length"));
        let think = Think::read(&traffic.section("think"));
        let warm_up = traffic
            .field("warm_up")
            .map(|field| field.duration(&WARM_UP));
        traffic.finish();
        let path = path?.to_owned();
        let scope = settings
            .scopes
            .iter()
            .find(|scope| scope.path.matches(&path));
        if !scope.is_some_and(super::rules::pins) {
            traffic.refuse(
                "path",
                "is in no scope whose sessions are pinned; accepted: a path of a scope with \
                 affinity = \"group\"",
            );
        }
        let length = length?;
        // older sessions have lost their pin, and shorter ones than those are nearly all
        let default = || length.p999().min(settings.pin.lifetimes.max_age());
        Some(Self {
            path,
            arrivals_per_second: arrivals?,
            length,
            think: think?,
            warm_up: warm_up.unwrap_or_else(|| Some(default()))?,
        })
    }
}

const PATH: &str = "the path of a request, such as \"/\"";
const MOST_ARRIVALS: f64 = 1_000_000.0;
const WARM_UP: Bounds = Bounds::millis(0, 7 * 86_400_000);
