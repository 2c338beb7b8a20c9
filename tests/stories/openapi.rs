//! The document of the admin API, held against what the admin side answers.

use http::StatusCode;
use serde_json::{Value, json};

use super::verbs::stage::{LATER, NEW, OLD, Stage};

/// The schema that a reference names, or itself.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(at) => {
            let found = document.pointer(at.trim_start_matches('#'));
            found.unwrap_or_else(|| panic!("{at} is not in the document"))
        }
        None => schema,
    }
}

/// What of `value` is not as the schema says; nothing if all is.
fn unlike(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let schema = resolved(document, schema);
    let list = |key: &str| schema[key].as_array().cloned().unwrap_or_default();
    if let parts @ [_, ..] = &list("oneOf")[..] {
        let faults = parts.iter().map(|part| unlike(document, part, value, at));
        let faults: Vec<_> = faults.collect();
        return match faults.iter().any(Vec::is_empty) {
            true => Vec::new(),
            false => faults.concat(),
        };
    }
    let mut properties = vec![schema["properties"].clone()];
    let mut required = list("required");
    for part in list("allOf") {
        let part = resolved(document, &part);
        properties.push(part["properties"].clone());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    match value {
        Value::Object(fields) => {
            let known = |key: &str| properties.iter().find_map(|all| all.get(key));
            let missing = required.iter().filter_map(Value::as_str);
            let missing = missing.filter(|key| !fields.contains_key(*key));
            let mut faults: Vec<_> = missing
                .map(|key| format!("{at}.{key} is missing"))
                .collect();
            for (key, value) in fields {
                let (at, others) = (format!("{at}.{key}"), &schema["additionalProperties"]);
                match known(key).or_else(|| others.is_object().then_some(others)) {
                    Some(schema) => faults.extend(unlike(document, schema, value, &at)),
                    None => faults.push(format!("{at} is not described")),
                }
            }
            faults
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let faults = items.map(|(nth, item)| {
                unlike(document, &schema["items"], item, &format!("{at}[{nth}]"))
            });
            faults.flatten().collect()
        }
        plain => {
            let kind = match plain {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::String(_) => "string",
                number if number.is_f64() => "number",
                _ => "integer",
            };
            let fits = |told: &Value| told == kind || (told == "number" && kind == "integer");
            let told = &schema["type"];
            let fits = fits(told) || told.as_array().is_some_and(|all| all.iter().any(fits));
            match fits {
                true => Vec::new(),
                false => vec![format!("{at} is {plain}, and not {told}")],
            }
        }
    }
}

/// The schema of an answer.
fn schema<'a>(document: &'a Value, method: &str, path: &str, status: &str) -> &'a Value {
    let answer = &document["paths"][path][method]["responses"][status]["content"];
    let kinds = answer.as_object();
    let kind = kinds.and_then(|kinds| kinds.values().next());
    &kind.unwrap_or_else(|| panic!("{method} {path} {status} is not described"))["schema"]
}

#[tokio::test]
async fn the_document_of_the_admin_api_says_what_it_answers() {
    let stage = Stage::new(9, 1).await;
    let admin = stage.admin();
    let document = admin.get("/v1/openapi.json").await.json();
    assert!(
        document["openapi"].as_str().unwrap().starts_with("3.1"),
        "{}",
        document["openapi"]
    );
    stage.get(&mut stage.client()).await;
    let holds = |method: &str, path: &str, status: &str, answer: &Value| {
        let schema = schema(&document, method, path, status);
        let faults = unlike(&document, schema, answer, "");
        assert!(faults.is_empty(), "{method} {path}: {faults:?} in {answer}");
    };
    for (path, at) in [
        ("/v1/rollout", "/v1/rollout"),
        ("/v1/overview", "/v1/overview"),
        ("/v1/groups/{group}", &format!("/v1/groups/{OLD}")),
        ("/v1/analysis", "/v1/analysis"),
        ("/v1/facts", "/v1/facts"),
        ("/v1/replicas", "/v1/replicas"),
        ("/v1/explain", "/v1/explain?path=/"),
    ] {
        holds("get", path, "200", &admin.get(at).await.json());
    }
    let drained = "/v1/groups/{group}/drained";
    let left = admin.get(&format!("/v1/groups/{OLD}/drained")).await;
    assert_eq!(left.status, StatusCode::CONFLICT);
    holds("get", drained, "409", &left.json());
    let weights = admin.weights(&json!({ NEW: 2 })).await;
    holds("put", "/v1/rollout/weights", "200", &weights.json());
    let endpoints = stage.fleet.addresses(LATER);
    let register = json!({ "name": LATER, "endpoints": endpoints });
    holds(
        "post",
        "/v1/groups",
        "200",
        &admin.post("/v1/groups", &register).await.json(),
    );
    let mark = format!(
        "/v1/groups/{NEW}/endpoints/{}/drain",
        stage.fleet.addresses(NEW)[0]
    );
    let told = admin.post(&mark, &json!({ "force": true })).await;
    holds(
        "post",
        "/v1/groups/{group}/endpoints/{address}/{verb}",
        "200",
        &told.json(),
    );
    let minted = admin
        .post("/v1/pins/mint", &json!({ "group": NEW }))
        .await
        .json();
    holds("post", "/v1/pins/mint", "200", &minted);
    let token = json!({ "token": minted["token"] });
    for token in [token, json!({ "token": "a.b.c" })] {
        holds(
            "post",
            "/v1/pins/inspect",
            "200",
            &admin.post("/v1/pins/inspect", &token).await.json(),
        );
    }
    let verb = "/v1/groups/{group}/{verb}";
    let preview = admin
        .post(&format!("/v1/groups/{NEW}/abort?preview=true"), &json!({}))
        .await;
    let schema = &document["components"]["schemas"]["PreviewView"];
    let faults = unlike(&document, schema, &preview.json(), "");
    assert!(faults.is_empty(), "{faults:?} in {}", preview.text());
    holds(
        "post",
        verb,
        "200",
        &admin.verb(NEW, "abort", &json!({})).await.json(),
    );
    holds(
        "post",
        verb,
        "default",
        &admin.verb(OLD, "drain", &json!({})).await.json(),
    );
    let open = document["paths"]["/v1/rollout"]["get"]["security"]
        .as_array()
        .unwrap();
    assert!(
        open.contains(&json!({})),
        "on loopback reading needs no token: {open:?}"
    );
}

#[test]
fn an_answer_that_is_not_as_described_is_found() {
    let document = json!({ "components": { "schemas": { "One": {
        "type": "object",
        "required": ["a"],
        "properties": { "a": { "type": "integer" }, "b": { "type": ["string", "null"] } },
    } } } });
    let one = json!({ "$ref": "#/components/schemas/One" });
    let faults = |value| unlike(&document, &one, &value, "");
    assert!(faults(json!({ "a": 1, "b": null })).is_empty());
    for (value, fault) in [
        (json!({}), ".a is missing"),
        (json!({ "a": "1" }), ".a is \"1\", and not \"integer\""),
        (json!({ "a": 1, "c": 1 }), ".c is not described"),
    ] {
        assert_eq!(faults(value), [fault]);
    }
}
