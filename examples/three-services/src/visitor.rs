//! A visitor, who keeps the pin of the first service.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::client::{CallError, Client, Plain};
use crate::service::Seen;

const PIN: HeaderName = HeaderName::from_static("affinity-pin");

/// A client that keeps its pin and sends it back. Browsers do so with a cookie; without cookies it is
/// a header, and an empty one asks for a pin.
#[derive(Debug)]
pub struct Visitor {
    web: Client<Plain>,
    pin: HeaderValue,
}

impl Visitor {
    /// Somebody new.
    #[must_use]
    pub fn new(web: Client<Plain>) -> Self {
        let pin = HeaderValue::from_static("");
        Self { web, pin }
    }

    /// Visits the shop, and answers which commit of each service has served.
    ///
    /// # Errors
    ///
    /// If one of them has not answered.
    pub async fn visit(&mut self) -> Result<Vec<Seen>, CallError> {
        let headers = HeaderMap::from_iter([(PIN, self.pin.clone())]);
        let answer = self.web.get(headers).await?;
        if let Some(pin) = answer.headers().get(PIN) {
            self.pin = pin.clone();
        }
        Ok(serde_json::from_slice(answer.body())?)
    }
}
