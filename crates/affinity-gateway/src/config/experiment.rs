//! `[[experiment]]`: arms that sessions are given beside their group.

use tower_affinity::core::{Experiment, MAX_EXPERIMENTS, Weight};
use tower_affinity::experiments::{DrawBy, Experiments};

use super::field::Field;
use super::scope::{COOKIE, HEADER, client_header, is_cookie_name};
use super::section::Section;

pub(super) fn read(root: &Section<'_>, pin_cookie: Option<&str>) -> Experiments {
    let mut all: Vec<(Experiment, DrawBy)> = Vec::new();
    for section in root.sections("experiment", MAX_EXPERIMENTS) {
        let Some((experiment, by)) = one(&section, pin_cookie) else {
            continue;
        };
        let with_it = all.iter().map(|(known, _)| known).chain([&experiment]);
        match Experiments::new(with_it.cloned()) {
            Ok(_) => all.push((experiment, by)),
            Err(error) => section.refuse("name", format!("{error}; accepted: another name")),
        }
    }
    let drawn = Experiments::new(all.iter().map(|(experiment, _)| experiment.clone()));
    let drawn = all.into_iter().fold(drawn, |drawn, (experiment, by)| {
        drawn?.drawn_by(experiment.name().as_str(), by)
    });
    // each was taken before
    drawn.unwrap_or_default()
}

fn one(section: &Section<'_>, pin_cookie: Option<&str>) -> Option<(Experiment, DrawBy)> {
    let name = section.required("name", NAME);
    let name = name.and_then(|field| field.parsed(NAME, |text| text.parse().ok()));
    let arms = section
        .required("arms", ARMS)
        .and_then(|field| arms(&field));
    let by = section.field("by").map(|field| by(&field, pin_cookie));
    section.finish();
    match Experiment::new(name?, arms?) {
        Ok(experiment) => Some((experiment, by.unwrap_or_default())),
        Err(error) => {
            section.refuse("arms", format!("{error}; accepted: {ARMS}"));
            None
        }
    }
}

/// The arms with their weights, unless one of them is wrong.
fn arms(field: &Field<'_>) -> Option<Vec<(tower_affinity::core::ArmName, Weight)>> {
    let arms = field.section().named().into_iter();
    arms.map(|(name, weight)| {
        let Ok(name) = name.parse() else {
            weight.refuse(format!("its name is none of an arm; accepted: {NAME}"));
            return None;
        };
        let weight = weight.integer(&(0..=Weight::MAX.get().into()))?;
        Some((name, Weight::new(weight).ok()?))
    })
    .collect()
}

fn by(field: &Field<'_>, pin_cookie: Option<&str>) -> DrawBy {
    let text = field.text(BY).unwrap_or(SESSION);
    match text.split_once(':') {
        None if text == SESSION => {}
        Some(("header", name)) => match client_header(name) {
            Some(name) => return DrawBy::Header(name),
            None => field.refuse(format!("accepted: {HEADER}")),
        },
        Some(("cookie", name)) if Some(name) == pin_cookie => {
            field.refuse("is the cookie of the pin itself; accepted: another cookie");
        }
        Some(("cookie", name)) if is_cookie_name(name) => return DrawBy::Cookie(name.into()),
        Some(("cookie", _)) => field.refuse(format!("accepted: {COOKIE}")),
        _ => field.refuse(format!("accepted: {BY}")),
    }
    DrawBy::Session
}

/// What an arm is drawn by, as it is written.
pub(super) fn word(by: &DrawBy) -> String {
    match by {
        DrawBy::Session => SESSION.to_owned(),
        DrawBy::Header(name) => format!("header:{name}"),
        DrawBy::Cookie(name) => format!("cookie:{name}"),
    }
}

const SESSION: &str = "session";
const NAME: &str = "1 to 32 of a-z 0-9 -";
const ARMS: &str = "1 to 8 arms with weights of 0 to 10000, not all 0, such as { a = 50, b = 50 }";
const BY: &str = "\"session\", \"header:NAME\", \"cookie:NAME\"";
