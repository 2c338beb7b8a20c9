//! Places in an axum router: what is merged, nested, a fallback, or one method of a route.

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::header::SET_COOKIE;
use http::{Request, StatusCode};
use tower::ServiceExt;
use tower_affinity::Affinity;
use tower_affinity::core::Level;
use tower_affinity::wire::{PathPattern, Scope};
use tower_http::compression::CompressionLayer;

use crate::support::{Site, at_once, texts};

async fn group(affinity: Option<Affinity>) -> String {
    affinity.map_or("none".to_owned(), |affinity| affinity.group().to_owned())
}

fn request(method: &str, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    request.body(Body::empty()).unwrap()
}

/// How many pins an answer sets.
fn pins(app: &Router, method: &str, path: &str) -> usize {
    let answer = at_once(app.clone().oneshot(request(method, path))).unwrap();
    assert_eq!(answer.status(), StatusCode::OK, "{method} {path}");
    texts(answer.headers(), "set-cookie").len()
}

#[test]
fn merged_routers_keep_their_own_scopes() {
    let site = Site::new();
    let none =
        Site::with(|builder| builder.scope(Scope::new(PathPattern::all()).level(Level::None)));
    let shop = Router::new().route("/step", get(group)).layer(site.layer);
    let assets = Router::new().route("/app.js", get(group)).layer(none.layer);
    let plain = Router::new().route("/livez", get(group));
    let app = shop.merge(assets).merge(plain);
    assert_eq!(pins(&app, "GET", "/step"), 1);
    assert_eq!(pins(&app, "GET", "/app.js"), 0);
    assert_eq!(pins(&app, "GET", "/livez"), 0);
}

#[test]
fn a_layer_of_one_method_leaves_the_others_alone() {
    let site = Site::new();
    let route = get(group).layer(site.layer).post(group);
    let app = Router::new().route("/step", route);
    assert_eq!(pins(&app, "GET", "/step"), 1);
    assert_eq!(pins(&app, "POST", "/step"), 0);
}

#[test]
fn a_fallback_is_inside_of_layer_and_outside_of_route_layer() {
    let site = Site::new();
    let router = || Router::new().route("/step", get(group)).fallback(group);
    assert_eq!(
        pins(&router().layer(site.layer.clone()), "GET", "/nowhere"),
        1
    );
    let app = router().route_layer(site.layer);
    assert_eq!(
        pins(&app, "GET", "/nowhere"),
        0,
        "a stranger's 404 begins no session"
    );
    assert_eq!(pins(&app, "GET", "/step"), 1);
}

#[test]
fn in_a_router_compression_may_stand_on_either_side() {
    let site = Site::new();
    let long = || async { "the same words again and again, ".repeat(64) };
    let router = || Router::new().route("/", get(long));
    let apps = [
        router()
            .layer(site.layer.clone())
            .layer(CompressionLayer::new()),
        router().layer(CompressionLayer::new()).layer(site.layer),
    ];
    for app in apps {
        let mut request = request("GET", "/");
        request
            .headers_mut()
            .insert("accept-encoding", "gzip".parse().unwrap());
        let answer = at_once(app.oneshot(request)).unwrap();
        assert_eq!(answer.headers()["content-encoding"], "gzip");
        assert_eq!(answer.headers()["cache-control"], "private");
        assert!(answer.headers().contains_key(SET_COOKIE));
    }
}
