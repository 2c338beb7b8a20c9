//! [`Arms`]: what everything inside gets to know.

use std::sync::Arc;

use tower_affinity_core::{ArmName, ExperimentName, Given};

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
pub struct Arms(Arc<Given>);

impl Arms {
    pub(crate) fn new(given: Given) -> Self {
        Self(Arc::new(given))
    }

    /// The session's arm of that experiment; `None` without a session, and if there is no such
    /// experiment: nobody takes part in one that has ended.
    #[must_use]
    pub fn of(&self, experiment: &str) -> Option<&ArmName> {
        self.0.of(experiment).map(|arm| arm.name())
    }

    /// As [`Arms::of`], as text.
    #[must_use]
    pub fn name_of(&self, experiment: &str) -> Option<&str> {
        self.of(experiment).map(ArmName::as_str)
    }

    /// The experiments of which the session has an arm, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&ExperimentName, &ArmName)> {
        let each = self.0.each();
        each.filter_map(|(experiment, arm)| Some((experiment.name(), arm?.name())))
    }

    /// The experiments that the session meets with this request.
    pub(crate) fn news(&self) -> impl Iterator<Item = (&ExperimentName, &ArmName)> {
        let news = self.0.news();
        news.map(|(experiment, arm)| (experiment.name(), arm.name()))
    }
}
