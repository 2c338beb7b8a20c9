//! The extractors, in every place of an axum router where the layer can stand.

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use http::{Request, Response};
use http_body_util::BodyExt;
use tower::{Service, ServiceExt};
use tower_affinity::core::Level;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{Affinity, AffinityLayer};

use crate::support::{COOKIE_NAME, Site, at_once};

async fn step(affinity: Affinity) -> String {
    let session = affinity
        .session()
        .map_or("none".to_owned(), |id| id.to_string());
    let from = affinity
        .moved_from()
        .map_or("none", |last| last.from.label());
    format!("{} {session} {from}", affinity.group())
}

async fn maybe(affinity: Option<Affinity>) -> String {
    affinity.map_or("no affinity".to_owned(), |affinity| {
        affinity.group().to_owned()
    })
}

fn ask(method: &str, path: &str, token: Option<&str>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("cookie", format!("{COOKIE_NAME}={token}"));
    }
    request.body(Body::empty()).unwrap()
}

fn send(app: &Router, request: Request<Body>) -> (Response<()>, String) {
    let (parts, body) = at_once(app.clone().oneshot(request)).unwrap().into_parts();
    let body = at_once(body.collect()).unwrap().to_bytes();
    (
        Response::from_parts(parts, ()),
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

fn router(layer: &AffinityLayer) -> Router {
    Router::new()
        .route("/step", post(step))
        .route("/maybe", get(maybe))
        .layer(layer.clone())
}

#[test]
fn a_handler_is_told_session_group_and_move() {
    let site = Site::new();
    let app = router(&site.layer);
    let token = site.token("B");
    let session = site.pin("B").session;
    let (response, body) = send(&app, ask("POST", "/step", Some(&token)));
    assert_eq!(
        (response.status().as_u16(), body),
        (200, format!("B {session} none"))
    );
    assert!(!response.headers().contains_key("set-cookie"));
    site.abort("B");
    let (response, body) = send(&app, ask("POST", "/step", Some(&token)));
    assert_eq!(body, format!("A {session} B"));
    assert_eq!(response.headers().get_all("set-cookie").iter().count(), 1);
    let (response, body) = send(&app, ask("POST", "/step", None));
    assert!(body.starts_with("A "), "{body}");
    let token = response.headers()["set-cookie"].to_str().unwrap();
    assert!(token.starts_with("__Host-affinity-checkout="), "{token}");
}

#[test]
fn it_stands_around_a_route_a_nest_a_fallback_and_a_whole_router() {
    let site = Site::new();
    let layer = &site.layer;
    let token = site.token("B");
    let handler = || Router::new().route("/maybe", get(maybe));
    let routers = [
        ("layer", handler().layer(layer.clone()), "/maybe"),
        (
            "route_layer",
            handler().route_layer(layer.clone()),
            "/maybe",
        ),
        (
            "per method",
            Router::new().route("/maybe", get(maybe).layer(layer.clone())),
            "/maybe",
        ),
        (
            "inside a nest",
            Router::new().nest("/in", handler().layer(layer.clone())),
            "/in/maybe",
        ),
        (
            "around a nest",
            Router::new().nest("/in", handler()).layer(layer.clone()),
            "/in/maybe",
        ),
        (
            "fallback",
            Router::new().fallback(maybe).layer(layer.clone()),
            "/any",
        ),
        (
            "fallback_service",
            Router::new().fallback_service(tower::Layer::layer(layer, handler())),
            "/maybe",
        ),
    ];
    for (place, app, path) in routers {
        let (response, body) = send(&app, ask("GET", path, Some(&token)));
        assert_eq!(
            (response.status().as_u16(), body.as_str()),
            (200, "B"),
            "{place}"
        );
        assert_eq!(response.headers()["cache-control"], "private", "{place}");
        let (response, _) = send(&app, ask("GET", path, None));
        assert_eq!(
            response.headers().get_all("set-cookie").iter().count(),
            1,
            "{place}"
        );
    }
}

#[test]
fn inside_a_nest_a_scope_speaks_of_the_path_below_it() {
    let scoped = |path: &str| {
        let scope = Scope::new(path.parse().unwrap()).level(Level::None);
        Site::with(|builder| builder.scope(scope).scope(Scope::new(PathPattern::all())))
    };
    let app = |path: &str| {
        let router = Router::new().route("/maybe", get(maybe));
        Router::new().nest("/in", router.layer(scoped(path).layer))
    };
    let sets_a_pin = |path: &str| {
        let (response, _) = send(&app(path), ask("GET", "/in/maybe", None));
        response.headers().contains_key("set-cookie")
    };
    assert!(sets_a_pin("/in/*"));
    assert!(!sets_a_pin("/maybe"));
}

#[test]
fn a_router_without_the_layer_has_no_affinity_and_says_what_is_missing() {
    let app = Router::new()
        .route("/step", post(step))
        .route("/maybe", get(maybe));
    let (response, body) = send(&app, ask("GET", "/maybe", None));
    assert_eq!(
        (response.status().as_u16(), body.as_str()),
        (200, "no affinity")
    );
    let (response, body) = send(&app, ask("POST", "/step", None));
    assert_eq!(response.status(), 500);
    let kind = &response.headers()["content-type"];
    assert_eq!(kind, "application/problem+json", "{body}");
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["type"], "about:blank", "{body}");
    assert!(!body.contains("AffinityLayer"), "a client is told: {body}");
    let text = tower_affinity::MissingAffinity.to_string();
    assert!(
        text.contains("AffinityLayer") && text.contains("Router::layer"),
        "{text}"
    );
}

#[test]
fn routes_that_are_added_after_the_layer_are_outside_of_it() {
    let site = Site::new();
    let app = router(&site.layer).route("/late", get(maybe));
    assert_eq!(send(&app, ask("GET", "/late", None)).1, "no affinity");
}

#[test]
fn a_handler_ends_the_session_with_a_typed_word() {
    use axum::Extension;
    use tower_affinity::signal::Signal;

    let site = Site::new();
    let app = Router::new()
        .route("/bye", get(|| async { (Extension(Signal::End), "bye") }))
        .layer(site.layer.clone());
    let (response, _) = send(&app, ask("GET", "/bye", Some(&site.token("A"))));
    let line = response.headers()["set-cookie"].to_str().unwrap();
    assert!(
        line.starts_with("__Host-affinity-checkout=;") && line.ends_with("Max-Age=0"),
        "{line}"
    );
}

#[test]
fn the_layered_router_is_a_service_that_a_server_can_take() {
    fn served<S: Service<Request<Body>, Error = std::convert::Infallible> + Clone + Send + Sync>(
        _: &S,
    ) {
    }
    let site = Site::new();
    served(&router(&site.layer));
    served(&tower::Layer::layer(&site.layer, Router::<()>::new()));
}

/// An application of two services, each with its own scopes and levels on its own routes.
#[test]
fn c080_routes_of_two_services_keep_their_pins_apart() {
    let site = |service: &str, level: Level| {
        let scope = Scope::new(PathPattern::all()).level(level);
        Site::with(|builder| builder.service(service).scope(scope))
    };
    let (shop, blog) = (site("shop", Level::Group), site("blog", Level::Version));
    let assets = site("shop", Level::Follow);
    let app = Router::new()
        .nest(
            "/shop",
            Router::new().route("/a", get(maybe)).layer(shop.layer),
        )
        .nest(
            "/blog",
            Router::new()
                .route("/a", get(maybe))
                .route_layer(blog.layer),
        )
        .route("/static", get(maybe).layer(assets.layer))
        .route("/free", get(maybe));
    let mut jar = std::collections::BTreeMap::new();
    let mut groups = std::collections::BTreeMap::new();
    let mut set = 0;
    for _ in 0..5 {
        for path in ["/shop/a", "/blog/a", "/static", "/free"] {
            let pairs = jar.iter().map(|(name, value)| format!("{name}={value}"));
            let cookies = pairs.collect::<Vec<_>>().join("; ");
            let request = Request::builder().uri(path).header("cookie", cookies);
            let (response, body) = send(&app, request.body(Body::empty()).unwrap());
            for line in response.headers().get_all("set-cookie") {
                let pair = line.to_str().unwrap().split(';').next().unwrap();
                let (name, value) = pair.split_once('=').unwrap();
                jar.insert(name.to_owned(), value.to_owned());
                set += 1;
            }
            let group: &String = groups.entry(path).or_insert_with(|| body.clone());
            assert_eq!(&body, group, "{path} has hopped");
        }
    }
    let names: Vec<&str> = jar.keys().map(String::as_str).collect();
    assert_eq!(names, ["__Host-affinity-blog", "__Host-affinity-shop"]);
    assert_eq!(set, 2, "each service has set its pin once");
    assert_eq!(groups["/free"], "no affinity");
    assert_eq!(
        groups["/static"], groups["/shop/a"],
        "assets follow the pin of their service"
    );
}

/// One around the other: each reads and writes its own pin, and the inner one tells the handler.
#[test]
fn a_service_inside_of_another_has_a_pin_of_its_own() {
    let [outer, inner] = ["shop", "search"].map(|s| Site::with(|builder| builder.service(s)));
    let app = Router::new()
        .route("/maybe", get(maybe))
        .layer(inner.layer.clone())
        .layer(outer.layer.clone());
    let cookie = |name: &str, token: &str| format!("__Host-affinity-{name}={token}");
    let (response, _) = send(&app, ask("GET", "/maybe", None));
    assert_eq!(response.headers().get_all("set-cookie").iter().count(), 2);
    let seal = |service: &str, site: &Site, group: &str| {
        cookie(
            service,
            &crate::support::codec(service, crate::support::K1)
                .seal(&site.pin(group))
                .token,
        )
    };
    let both = format!(
        "{}; {}",
        seal("shop", &outer, "A"),
        seal("search", &inner, "B")
    );
    let request = Request::builder().uri("/maybe").header("cookie", both);
    let (response, body) = send(&app, request.body(Body::empty()).unwrap());
    assert_eq!(body, "B", "the inner one is nearer");
    assert!(
        !response.headers().contains_key("set-cookie"),
        "both were obeyed"
    );
}
