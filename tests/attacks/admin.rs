//! The admin side: out of reach from the public port, and closed to whoever has no token.

use affinity_tests::BOUND;
use affinity_tests::process::Process;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::{Method, Request, StatusCode};
use serde_json::json;
use tokio::time::timeout;

use super::support::{A, B, Site, Talk, get, talk, unpadded};

/// Every call that changes something.
const CHANGES: [(&str, &str); 7] = [
    ("PUT", "/v1/rollout/weights"),
    ("POST", "/v1/groups"),
    ("POST", "/v1/groups/c3d4e5f/promote"),
    ("POST", "/v1/groups/c3d4e5f/drain"),
    ("POST", "/v1/groups/c3d4e5f/abort"),
    ("POST", "/v1/groups/c3d4e5f/retire"),
    ("POST", "/v1/groups/c3d4e5f/restore"),
];

const WEIGHTS: &str = r#"{"9f1c2ab":1,"c3d4e5f":5}"#;

fn change(method: &str, path: &str) -> http::request::Builder {
    let method: Method = method.parse().unwrap();
    Request::builder().method(method).uri(path)
}

#[tokio::test]
async fn sec_52_the_public_port_has_no_admin_paths() {
    let site = Site::start().await;
    let token = site.admin().token().to_owned();
    let before = site.admin().rollout().await;
    let mut expected = 0;
    for path in [
        "/metrics",
        "/admin",
        "/abort",
        "/v1/rollout",
        "/livez",
        "/readyz",
        "/",
    ] {
        let reply = talk(
            site.address(),
            String::from_utf8(get("")).unwrap().replacen('/', path, 1),
        )
        .await;
        assert!(
            reply.text().ends_with("\r\n\r\nok"),
            "{path} is the app's: {}",
            reply.text()
        );
        expected += 1;
    }
    for (method, path) in CHANGES {
        let bytes = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        let reply = talk(site.address(), bytes).await;
        assert!(
            reply.text().ends_with("\r\n\r\nok"),
            "{path} is the app's: {}",
            reply.text()
        );
        expected += 1;
    }
    assert_eq!(site.a.seen().len(), expected);
    assert_eq!(site.admin().rollout().await, before);
}

#[tokio::test]
async fn sec_52_no_call_changes_anything_without_the_token_the_method_and_the_type() {
    let site = Site::start().await;
    let token = site.admin().token().to_owned();
    let before = site.admin().rollout().await;
    let bearer = format!("Bearer {token}");
    let wrong = [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {token}"),
        token.clone(),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {token}x"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer x {token}"),
        format!("Bearer {}", unpadded([0; 32])),
    ];
    for (method, path) in CHANGES {
        for shown in &wrong {
            let request = change(method, path)
                .header(AUTHORIZATION, shown)
                .header(CONTENT_TYPE, "application/json");
            let told = site.admin().request(request, Bytes::from(WEIGHTS)).await;
            assert_eq!(told.status, StatusCode::UNAUTHORIZED, "{path} {shown:?}");
            assert!(!told.text().contains(&token[..8]), "{}", told.text());
        }
        let request = change(method, path).header(CONTENT_TYPE, "application/json");
        let told = site.admin().request(request, Bytes::from(WEIGHTS)).await;
        assert_eq!(
            told.status,
            StatusCode::UNAUTHORIZED,
            "{path} from loopback without a token"
        );
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "application/jsonx",
            "",
            "application/json-patch+json",
        ] {
            let request = change(method, path)
                .header(AUTHORIZATION, &bearer)
                .header(CONTENT_TYPE, kind);
            let told = site.admin().request(request, Bytes::from(WEIGHTS)).await;
            assert_eq!(
                told.status,
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "{path} {kind}"
            );
        }
        // a token in the query, and methods that change nothing
        for (other, target) in [
            ("GET", path.to_owned()),
            ("HEAD", path.to_owned()),
            (
                "GET",
                format!("{path}?access_token={token}&_method={method}"),
            ),
            ("OPTIONS", path.to_owned()),
            ("DELETE", path.to_owned()),
            ("PATCH", path.to_owned()),
            (
                if method == "PUT" { "POST" } else { "PUT" },
                path.to_owned(),
            ),
        ] {
            let request = change(other, &target)
                .header(AUTHORIZATION, &bearer)
                .header(CONTENT_TYPE, "application/json")
                .header("x-http-method-override", method);
            let told = site.admin().request(request, Bytes::from(WEIGHTS)).await;
            assert!(
                told.status.is_client_error(),
                "{other} {target}: {}",
                told.status
            );
        }
    }
    assert_eq!(site.admin().rollout().await, before, "something changed");
}

#[tokio::test]
async fn sec_52_a_page_of_another_origin_reaches_nothing_through_its_visitor() {
    let site = Site::start().await;
    let before = site.admin().rollout().await;
    let at = site.admin().address();
    let bearer = format!("Bearer {}", site.admin().token());
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:9090",
        "127.0.0.1@evil.example",
        "",
        "0x7f.1",
    ] {
        for (method, path) in [
            ("GET", "/v1/rollout"),
            ("PUT", "/v1/rollout/weights"),
            ("GET", "/metrics"),
        ] {
            let request = change(method, path)
                .header(HOST, host)
                .header(AUTHORIZATION, &bearer)
                .header(CONTENT_TYPE, "application/json");
            let told = site.admin().request(request, Bytes::from(WEIGHTS)).await;
            assert_eq!(told.status, StatusCode::FORBIDDEN, "{path} for {host:?}");
            assert!(!told.text().contains(A), "{}", told.text());
        }
    }
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        format!("https://{at}"),
        format!("http://{at}.evil.example"),
        "http://localhost:1".to_owned(),
    ] {
        let request = change("PUT", "/v1/rollout/weights")
            .header(ORIGIN, &origin)
            .header(AUTHORIZATION, &bearer)
            .header(CONTENT_TYPE, "application/json");
        let told = site.admin().request(request, Bytes::from(WEIGHTS)).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{origin}");
        assert!(!told.headers.contains_key("access-control-allow-origin"));
    }
    // two hosts, and none
    for lines in ["host: 127.0.0.1\r\nhost: evil.example\r\n", ""] {
        let reply = talk(
            at,
            format!("GET /v1/rollout HTTP/1.1\r\nconnection: close\r\n{lines}\r\n"),
        )
        .await;
        assert!(
            matches!(reply.status(), 400 | 403),
            "{lines:?}: {}",
            reply.text()
        );
    }
    let preflight = change("OPTIONS", "/v1/rollout/weights")
        .header(ORIGIN, "http://evil.example")
        .header("access-control-request-method", "PUT");
    let told = site.admin().request(preflight, Bytes::new()).await;
    assert!(told.status.is_client_error(), "{}", told.status);
    assert!(!told.headers.contains_key("access-control-allow-origin"));
    assert_eq!(site.admin().rollout().await, before);
}

#[tokio::test]
async fn sec_52_every_change_is_logged_with_who_and_its_revision() {
    let site = Site::start().await;
    let file = site.config.write(&site.dir, "logged.toml");
    let text = site
        .config
        .text()
        .replace("gateway-state.json", "logged-state.json");
    site.dir.write("logged.toml", text);
    let process = Process::start(&file).await;
    let first = process
        .admin()
        .weights(&json!({ A: 1, B: 1 }))
        .await
        .revision();
    let second = process
        .admin()
        .verb(B, "abort", &json!({}))
        .await
        .revision();
    process.terminate().await;
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");
    for (verb, before, after) in [("weights", first - 1, first), ("abort", second - 1, second)] {
        let line = log
            .lines()
            .find(|line| line.contains("affinity::audit") && line.contains(verb));
        let line = line.unwrap_or_else(|| panic!("{verb} is not in {log}"));
        for part in [
            "admin at 127.0.0.1:",
            &before.to_string(),
            &after.to_string(),
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
}

#[tokio::test]
async fn a_minted_override_is_logged_without_its_token() {
    let site = Site::start().await;
    let file = site.config.write(&site.dir, "minting.toml");
    let text = site
        .config
        .text()
        .replace("gateway-state.json", "minting-state.json");
    site.dir.write("minting.toml", text);
    let process = Process::start(&file).await;
    let wish = json!({ "group": B, "override": true, "sticky": true, "ttl": "90s" });
    let minted = process.admin().post("/v1/pins/mint", &wish).await.json();
    let token = minted["token"].as_str().expect("a token");
    process.terminate().await;
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");
    let mut lines = log.lines();
    let line = lines.find(|line| line.contains("affinity::audit") && line.contains("mint"));
    let line = line.unwrap_or_else(|| panic!("no minting in {log}"));
    for part in ["admin at 127.0.0.1:", B, "sticky=true", "90s"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    for part in token.split('.').skip(1) {
        assert!(!log.contains(part), "a token is in {log}");
    }
}

#[tokio::test]
async fn an_admin_client_that_sends_nothing_holds_nobody_up() {
    let site = Site::start().await;
    let mut held = Vec::new();
    for _ in 0..50 {
        let mut talk = Talk::open(site.admin().address()).await;
        talk.write("POST /v1/groups HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-le")
            .await;
        held.push(talk);
    }
    let told = timeout(BOUND, site.admin().get("/v1/rollout"))
        .await
        .expect("it answers");
    assert_eq!(told.status, StatusCode::OK);
}

#[tokio::test]
async fn a_registration_leads_neither_back_here_nor_into_another_group() {
    let site = Site::start().await;
    let before = site.admin().rollout().await;
    let mapped = format!("[::ffff:127.0.0.1]:{}", site.a.address.port());
    for endpoints in [
        json!([site.address().to_string()]),
        json!([site.admin().address().to_string()]),
        json!([site.a.address.to_string()]),
        json!([mapped]),
        json!(["127.0.0.1:9", "[::ffff:127.0.0.1]:9"]),
        json!(["0.0.0.0:9"]),
        json!(["224.0.0.1:9"]),
    ] {
        let body = json!({ "name": "new", "endpoints": endpoints });
        let told = site.admin().post("/v1/groups", &body).await;
        let refused = matches!(told.status.as_u16(), 400 | 409);
        assert!(refused, "{endpoints}: {}", told.text());
    }
    assert_eq!(site.admin().rollout().await, before);
    // a group that was retired leaves its place to the next commit
    let old = site.b.address.to_string();
    site.admin().verb(B, "drain", &json!({})).await.accepted();
    site.admin()
        .verb(B, "retire", &json!({ "force": true }))
        .await
        .accepted();
    let body = json!({ "name": "new", "endpoints": [old] });
    site.admin().post("/v1/groups", &body).await.accepted();
}

#[tokio::test]
async fn a_deadline_of_an_abort_does_not_outlive_all_pins() {
    let site = Site::start().await;
    site.weights(1, 1).await;
    let before = site.admin().rollout().await;
    for within in ["5h", "1000000h", "500000000000y", "-1s", "", "now"] {
        let body = json!({ "policy": "stay", "within": within });
        let told = site.admin().verb(B, "abort", &body).await;
        assert!(told.status.is_client_error(), "{within}: {}", told.text());
    }
    assert_eq!(site.admin().rollout().await, before);
}
