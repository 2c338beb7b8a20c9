//! [`RestartFlow`]: the answer by which a handler gives its flow up.

use std::convert::Infallible;

use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};
use http::header::{HeaderValue, LOCATION};
use http::request::Parts;
use http::{Response as HttpResponse, StatusCode};

use crate::problem::{OwnAnswer, Problem};
use crate::signal::{Signal, said};
use crate::wire::is_navigation;

/// Begins the flow anew: the session ends, and the client's next request is drawn as a new one.
///
/// ```
/// use axum::response::{IntoResponse, Response};
/// use tower_affinity::extract::RestartFlow;
///
/// async fn step(restart: RestartFlow, body: String) -> Response {
///     match body.parse::<u32>() {
///         Ok(step) => format!("{step} is done").into_response(),
///         Err(_) => restart.to("/start").into_response(),
///     }
/// }
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::post(step));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RestartFlow {
    navigation: bool,
}

impl RestartFlow {
    /// The answer: a page is sent to `url` (303), and anything else is told that its session has ended
    /// (409, `session-ended`). Both clear the pin.
    ///
    /// An `url` that no header can hold is not sent: a page gets the 409 then.
    pub fn to(self, url: &str) -> RestartedFlow {
        let place = HeaderValue::from_str(url).ok();
        if place.is_none() {
            tracing::error!("the place where a flow begins cannot be in a header");
        }
        RestartedFlow {
            place: place.filter(|_| self.navigation),
        }
    }
}

/// The answer of [`RestartFlow::to`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RestartedFlow {
    place: Option<HeaderValue>,
}

impl IntoResponse for RestartedFlow {
    fn into_response(self) -> Response {
        let mut response: Response = match self.place {
            Some(place) => {
                let mut response = HttpResponse::default();
                *response.status_mut() = StatusCode::SEE_OTHER;
                response.headers_mut().insert(LOCATION, place);
                response
            }
            None => Problem::SessionEnded.response("start the flow again"),
        };
        let extensions = response.extensions_mut();
        // it is the application's answer, which has a say in the pin
        extensions.remove::<OwnAnswer>();
        said::signal(extensions, Signal::End);
        response
    }
}

impl<S: Sync> FromRequestParts<S> for RestartFlow {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self {
            navigation: is_navigation(&parts.method, &parts.headers),
        })
    }
}
