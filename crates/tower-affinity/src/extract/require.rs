//! [`RequireGroup`]: a handler that one group alone may serve.

use axum_core::extract::{FromRef, FromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use thiserror::Error;
use tower_affinity_core::GroupName;

use super::MissingAffinity;
use crate::problem::OTHER_COMMIT;
use crate::{Affinity, Problem};

/// A request that was decided for the group that the state names: the handler runs for no other.
///
/// A request for another group is answered 421. For whole routes there is
/// [`RequireGroupLayer`](crate::require::RequireGroupLayer), which counts too.
///
/// ```
/// use axum::{Router, extract::FromRef, routing::post};
/// use tower_affinity::extract::{RequireGroup, RequiredGroup};
///
/// #[derive(Clone)]
/// struct Shop {
///     commit: RequiredGroup,
/// }
///
/// impl FromRef<Shop> for RequiredGroup {
///     fn from_ref(shop: &Shop) -> Self {
///         shop.commit.clone()
///     }
/// }
///
/// async fn new_step(RequireGroup(affinity): RequireGroup) -> String {
///     format!("only {} has this step", affinity.group())
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let shop = Shop { commit: RequiredGroup("c3d4e5f".parse()?) };
/// let app: Router = Router::new().route("/new-step", post(new_step)).with_state(shop);
/// # let _ = app; Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RequireGroup(pub Affinity);

/// The group that [`RequireGroup`] asks for: a part of the router's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredGroup(pub GroupName);

/// Why there is no [`RequireGroup`].
#[derive(Clone, Copy, Debug, Error)]
#[non_exhaustive]
pub enum OtherGroup {
    /// The request did not go through an [`AffinityLayer`](crate::AffinityLayer).
    #[error(transparent)]
    Affinity(#[from] MissingAffinity),
    /// Another group was decided than the one that may serve it.
    #[error("another group was decided than the one that may serve this")]
    Decided,
}

impl IntoResponse for OtherGroup {
    fn into_response(self) -> Response {
        match self {
            Self::Affinity(missing) => missing.into_response(),
            Self::Decided => {
                tracing::warn!("request for another group refused");
                Problem::WrongGroup.response_with(StatusCode::MISDIRECTED_REQUEST, OTHER_COMMIT)
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for RequireGroup
where
    RequiredGroup: FromRef<S>,
{
    type Rejection = OtherGroup;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, OtherGroup> {
        let affinity = parts.extensions.get::<Affinity>().ok_or(MissingAffinity)?;
        let RequiredGroup(required) = RequiredGroup::from_ref(state);
        if affinity.group() == required.as_str() {
            Ok(Self(affinity.clone()))
        } else {
            Err(OtherGroup::Decided)
        }
    }
}
