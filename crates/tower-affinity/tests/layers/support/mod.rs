//! A site under test: the layer, an application that writes down what it saw, and clients.

mod app;
mod browser;
mod everything;
mod seen;
mod site;

use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::Full;
use tower_affinity::core::{self, PinCodec};

pub(crate) use self::app::App;
pub(crate) use self::browser::Browser;
pub(crate) use self::everything::{Everything, heard};
pub(crate) use self::seen::{OnItsWay, Seen};
pub(crate) use self::site::Site;

pub(crate) type Body = Full<Bytes>;

pub(crate) const K1: &str = "k1:5TTK48nkSfEDI7Og9alBBsqR4RW_cVPE0LN2jPHYJr8";
pub(crate) const K2: &str = "k2:0Ky7-oEHjbrJa2aUeMlGyIHfr119_BBx3lFXdhdU_3w";
pub(crate) const COOKIE_NAME: &str = "__Host-affinity-checkout";
/// The idle lifetime by default, in seconds.
pub(crate) const TI: u64 = 1_800;
/// The whole lifetime by default, in seconds.
pub(crate) const TA: u64 = 14_400;

pub(crate) fn ask(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, value.as_bytes());
    }
    request.body(Body::default()).unwrap()
}

pub(crate) fn texts<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let lines = headers.get_all(name).into_iter();
    lines.map(|line| line.to_str().unwrap()).collect()
}

pub(crate) fn codec(service: &str, keys: &str) -> PinCodec {
    PinCodec::new(
        service.parse().unwrap(),
        &core::Keyring::parse(keys).unwrap(),
    )
}

/// The value of a future that has nothing to wait for.
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    match tokio_test::task::spawn(future).poll() {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits"),
    }
}
