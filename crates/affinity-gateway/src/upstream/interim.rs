//! Interim answers (1xx) of an endpoint, on their way to the client.

use http::{HeaderMap, Request, header};

use super::body::remove_unfit;
use crate::serve::Interim;

/// Passes on what the endpoint says ahead of its answer to `request`.
///
/// hyper's client tells of it on HTTP/1.1 only.
pub(super) fn pass_on<B>(request: &mut Request<B>, interim: Interim) {
    hyper::ext::on_informational(request, move |answer| {
        interim.pass(answer.status(), || fit(answer.headers().clone()));
    });
}

/// As with trailers: the layers clean answers, these never come there. Cookies go as well, so no pin
/// is ever set or planted by one.
fn fit(mut headers: HeaderMap) -> HeaderMap {
    remove_unfit(&mut headers);
    for name in [header::CONTENT_LENGTH, header::TRAILER] {
        headers.remove(name);
    }
    headers
}
