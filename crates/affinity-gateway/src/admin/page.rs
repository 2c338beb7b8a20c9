//! The page for people, at `/`: files that are part of the binary.
//!
//! They hold no data, so they need no token; what the page shows it asks for like everybody else.
//! Nothing of them may be inline, so that nothing that got into the page could run.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use super::problem;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// Only its own files and its own origin, and in no frame of anybody.
const POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// One file of the page.
struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
    tag: String,
}

macro_rules! asset {
    ($name:literal, $kind:expr, $path:literal) => {
        Asset::new($name, $kind, include_str!(concat!("../../page/", $path)))
    };
}

static ASSETS: LazyLock<[Asset; 21]> = LazyLock::new(|| {
    [
        asset!("", HTML, "index.html"),
        asset!("page.css", CSS, "page.css"),
        asset!("icon.svg", SVG, "icon.svg"),
        asset!("uplot.js", JS, "vendor/uplot.js"),
        asset!("uplot.css", CSS, "vendor/uplot.css"),
        asset!("uplot.LICENSE", TEXT, "vendor/uplot.LICENSE"),
        asset!("api.js", JS, "api.js"),
        asset!("board.js", JS, "board.js"),
        asset!("change.js", JS, "change.js"),
        asset!("chart.js", JS, "chart.js"),
        asset!("dom.js", JS, "dom.js"),
        asset!("format.js", JS, "format.js"),
        asset!("history.js", JS, "history.js"),
        asset!("lane.js", JS, "lane.js"),
        asset!("log.js", JS, "log.js"),
        asset!("main.js", JS, "main.js"),
        asset!("preview.js", JS, "preview.js"),
        asset!("stream.js", JS, "stream.js"),
        asset!("token.js", JS, "token.js"),
        asset!("verbs.js", JS, "verbs.js"),
        asset!("verdict.js", JS, "verdict.js"),
    ]
});

impl Asset {
    fn new(name: &'static str, kind: &'static str, text: &'static str) -> Self {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(text));
        let tag = format!("\"{digest}\"");
        Self {
            name,
            kind,
            text,
            tag,
        }
    }
}

pub(super) async fn index(headers: HeaderMap) -> Response {
    answer("", &headers).await
}

pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    answer(&name, &headers).await
}

async fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return problem::not_found().await.into_response();
    };
    // another release of the gateway may be there with the next request
    let fields = [(ETAG, asset.tag.as_str()), (CACHE_CONTROL, "no-cache")];
    if has(headers, &asset.tag) {
        return (StatusCode::NOT_MODIFIED, fields).into_response();
    }
    (fields, [(CONTENT_TYPE, asset.kind)], asset.text).into_response()
}

/// Whether the client has the file with that tag.
fn has(headers: &HeaderMap, tag: &str) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut tags = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    tags.any(|other| other.trim().trim_start_matches("W/") == tag)
}

/// What every answer of the admin side says to browsers.
pub(super) async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (SAME_ORIGIN_ONLY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

const SAME_ORIGIN_ONLY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_module_that_is_imported_is_served() {
        for asset in ASSETS.iter().filter(|asset| asset.kind == JS) {
            for line in asset
                .text
                .lines()
                .filter(|line| line.starts_with("import "))
            {
                let (_, module) = line.rsplit_once("\"./").unwrap();
                let module = module.trim_end_matches("\";");
                let served = ASSETS.iter().any(|other| other.name == module);
                assert!(served, "{} imports {module}", asset.name);
            }
        }
    }

    #[test]
    fn every_file_that_the_page_names_is_served() {
        let index = include_str!("../../page/index.html");
        let parts: Vec<_> = index.split("\"/page/").skip(1).collect();
        assert!(parts.len() > 3, "no file is named");
        for part in parts {
            let (name, _) = part.split_once('"').unwrap();
            assert!(ASSETS.iter().any(|asset| asset.name == name), "no {name}");
        }
    }

    #[tokio::test]
    async fn a_file_that_the_client_has_is_not_sent_again() {
        let whole = answer("main.js", &HeaderMap::new()).await;
        assert_eq!(whole.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        let tag = whole.headers().get(ETAG).unwrap().clone();
        headers.insert(IF_NONE_MATCH, tag);
        assert_eq!(
            answer("main.js", &headers).await.status(),
            StatusCode::NOT_MODIFIED
        );
        assert_eq!(answer("page.css", &headers).await.status(), StatusCode::OK);
        assert_eq!(
            answer("../Cargo.toml", &headers).await.status(),
            StatusCode::NOT_FOUND
        );
    }
}
