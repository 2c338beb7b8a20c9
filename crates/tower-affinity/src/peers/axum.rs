//! axum's body takes the answers of peers.

use axum_core::body::Body;
use bytes::Bytes;

use crate::BoxError;
use crate::balance::BalanceBody;

impl<R> From<BalanceBody<R>> for Body
where
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    /// Boxed, as every body is that axum gets; what the local service answers is not touched.
    fn from(body: BalanceBody<R>) -> Self {
        Self::new(body)
    }
}
