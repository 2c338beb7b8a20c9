//! [`Arms`]: what everything inside gets to know.

use std::sync::Arc;

use tower_affinity_core::{ArmName, ExperimentName, Given, MAX_EXPERIMENTS};

/// The arms of the request's session: an extension of the request, and with the feature `axum` an
/// extractor.
///
/// ```
/// # #[cfg(not(feature = "axum"))] fn main() {}
/// # #[cfg(feature = "axum")] fn main() {
/// use tower_affinity::Arms;
///
/// async fn checkout(arms: Arms) -> &'static str {
///     match arms.name_of("checkout-button") {
///         Some("green") => "a green button",
///         // the control, and everybody without a session
///         _ => "the button",
///     }
/// }
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::get(checkout)); }
/// ```
#[derive(Clone, Debug)]
pub struct Arms(Arc<Known>);

/// Where they are known from.
#[derive(Debug)]
enum Known {
    /// They were given here, or by a peer of the same service.
    Given(Given),
    /// A gateway has told them.
    Told(Vec<(ExperimentName, ArmName)>),
}

impl Arms {
    pub(crate) fn new(given: Given) -> Self {
        Self(Arc::new(Known::Given(given)))
    }

    /// Those of a session that takes part in no experiment.
    pub(crate) fn none() -> Self {
        Self(Arc::new(Known::Told(Vec::new())))
    }

    /// Those that a gateway names in a header as `experiment=arm, experiment=arm`; `None` if it does
    /// not read so.
    pub(crate) fn told(text: &str) -> Option<Self> {
        let mut told: Vec<(ExperimentName, ArmName)> = Vec::new();
        for entry in text
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            let (experiment, arm) = entry.split_once('=')?;
            let experiment: ExperimentName = experiment.parse().ok()?;
            let is_known = told.iter().any(|(known, _)| *known == experiment);
            if is_known || told.len() == MAX_EXPERIMENTS {
                return None;
            }
            told.push((experiment, arm.parse().ok()?));
        }
        Some(Self(Arc::new(Known::Told(told))))
    }

    /// The session's arm of that experiment; `None` without a session, and if there is no such
    /// experiment: nobody takes part in one that has ended.
    #[must_use]
    pub fn of(&self, experiment: &str) -> Option<&ArmName> {
        match &*self.0 {
            Known::Given(given) => given.of(experiment).map(|arm| arm.name()),
            Known::Told(told) => {
                let mut told = told.iter();
                told.find_map(|(name, arm)| (name.as_str() == experiment).then_some(arm))
            }
        }
    }

    /// As [`Arms::of`], as text.
    #[must_use]
    pub fn name_of(&self, experiment: &str) -> Option<&str> {
        self.of(experiment).map(ArmName::as_str)
    }

    /// The experiments of which the session has an arm, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&ExperimentName, &ArmName)> {
        let (given, told) = match &*self.0 {
            Known::Given(given) => (Some(given), None),
            Known::Told(told) => (None, Some(told)),
        };
        let given = given.into_iter().flat_map(Given::each);
        let given = given.filter_map(|(experiment, arm)| Some((experiment.name(), arm?.name())));
        let told = told.into_iter().flatten();
        given.chain(told.map(|(experiment, arm)| (experiment, arm)))
    }

    /// The experiments that the session meets with this request.
    pub(crate) fn news(&self) -> impl Iterator<Item = (&ExperimentName, &ArmName)> {
        let given = match &*self.0 {
            Known::Given(given) => Some(given),
            // who has given them has counted them
            Known::Told(_) => None,
        };
        let news = given.into_iter().flat_map(Given::news);
        news.map(|(experiment, arm)| (experiment.name(), arm.name()))
    }
}
