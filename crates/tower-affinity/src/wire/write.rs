//! Writes a pin on an answer, or clears it.

use http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use http::{Response, StatusCode};
use tower_affinity_core::{Level, Sealed, SessionPin};

use super::cache;
use super::read::Came;
use super::scope::CachePolicy;
use super::sent::Sent;
use super::shared::Wire;
use crate::carrier::{Carrier, cookie, header};
use crate::record::Reload;

/// The header that tells a page why to load itself anew.
const RELOAD: HeaderName = HeaderName::from_static("affinity-reload");

/// What the state side wants done with the pin of an answer: a response extension.
#[derive(Clone, Debug)]
pub enum WriteBack {
    /// It is written.
    Set(Box<SessionPin>),
    /// It is cleared.
    Clear,
}

/// The token of the pin that is to be written, where the endpoint has got it already: a response
/// extension beside [`WriteBack::Set`]. Both sides get the same bytes.
#[derive(Clone, Debug)]
pub(crate) struct AlreadySealed(pub(crate) Box<Sealed>);

impl Wire {
    pub(super) fn write<B>(&self, came: &Came, response: &mut Response<B>) {
        if let Some(reload) = response.extensions_mut().remove::<Reload>() {
            self.recorder.asked_to_reload(reload);
            let reason = HeaderValue::from_static(reload.as_str());
            response.headers_mut().insert(RELOAD, reason);
        }
        self.write_pin(came, response);
        self.write_grant(&came.grant, response);
    }

    fn write_pin<B>(&self, came: &Came, response: &mut Response<B>) {
        let wish = response.extensions_mut().remove::<WriteBack>();
        let already = match wish {
            Some(WriteBack::Set(_)) => response.extensions_mut().remove::<AlreadySealed>(),
            _ => None,
        };
        let status = response.status();
        let headers = response.headers_mut();
        let sent = Sent::of(headers);
        let mut planted = 0;
        if sent.has(Sent::SET_COOKIE) {
            planted += cookie::remove_set(headers, &self.own_names);
        }
        if sent.has(Sent::PIN) {
            planted += usize::from(headers.remove(header::PIN).is_some());
        }
        if planted > 0 {
            self.recorder.planted(planted);
        }
        let sets_pin = match wish {
            Some(WriteBack::Set(pin)) => self.set(came, &pin, already, headers),
            Some(WriteBack::Clear) => self.clear(came, headers),
            None => false,
        };
        let scope = came.scope.and_then(|nth| self.scopes.get(nth));
        let Some(scope) = scope else { return };
        if scope.policy().level == Level::Follow {
            came.hint.write(scope, &came.method, response);
            return;
        }
        if scope.policy().level == Level::None
            || (status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS)
        {
            return;
        }
        let kept = scope.cache == CachePolicy::Keep && !sets_pin;
        if kept {
            return;
        }
        if !sent.has(Sent::CACHING) {
            if sets_pin || cache::is_stored_untold(&came.method, status) {
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("private"));
            }
        } else if sets_pin || cache::may_be_shared(&came.method, status, headers) {
            cache::make_private(headers);
        }
    }

    fn set(
        &self,
        came: &Came,
        pin: &SessionPin,
        already: Option<AlreadySealed>,
        headers: &mut HeaderMap,
    ) -> bool {
        let Some(carrier) = came.carrier else {
            return false;
        };
        if carrier == Carrier::Cookie && !self.carriers.cookie {
            return false;
        }
        let sealed = already.map_or_else(|| self.codec.seal(pin), |AlreadySealed(sealed)| *sealed);
        if pin.moves == 0 && pin.issued == pin.started {
            self.recorder.pin_issued();
        }
        if sealed.dropped_unknown {
            self.recorder.claims_dropped();
        }
        let value = match carrier {
            Carrier::Header => HeaderValue::try_from(sealed.token).ok(),
            Carrier::Cookie => {
                let left = pin.expires.since(came.at);
                self.cookie.build(&sealed.token, left)
            }
        };
        // a token, a checked name and fixed attributes are always visible ASCII
        let Some(mut value) = value else {
            return false;
        };
        // layers that log headers leave it out, and HTTP/2 keeps it in no table
        value.set_sensitive(true);
        match carrier {
            Carrier::Header => drop(headers.insert(header::PIN, value)),
            Carrier::Cookie => drop(headers.append(SET_COOKIE, value)),
        }
        true
    }

    fn clear(&self, came: &Came, headers: &mut HeaderMap) -> bool {
        match came.carrier {
            Some(Carrier::Header) => {
                headers.insert(header::PIN, HeaderValue::from_static(""));
            }
            Some(Carrier::Cookie) if self.carriers.cookie => {
                for attributes in std::iter::once(&self.cookie).chain(&self.former_cookies) {
                    if let Some(value) = attributes.build("", std::time::Duration::ZERO) {
                        headers.append(SET_COOKIE, value);
                    }
                }
            }
            Some(Carrier::Cookie) | None => return false,
        }
        true
    }
}
