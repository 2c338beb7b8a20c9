//! Made-up workspaces with one fault each: the check names the fault.

use serde_json::{Value, json};

use crate::manifest::Workspace;
use crate::rules;
use crate::table::{CORE, ETCD, FACADE, TABLE, TESTING};
use crate::tree;

fn dependency(name: &str, kind: Option<&str>) -> Value {
    json!({ "name": name, "kind": kind, "optional": false, "features": [], "uses_default_features": false })
}

fn package(name: &str, dependencies: &[Value]) -> Value {
    json!({ "name": name, "dependencies": dependencies, "features": {} })
}

fn workspace(packages: &[Value], lock: &str) -> Workspace {
    Workspace::parse(
        &json!({ "packages": packages }).to_string(),
        &format!("package = [{lock}]"),
    )
}

#[test]
fn a_forbidden_edge_between_our_crates_is_named() {
    let made_up = workspace(
        &[
            package(CORE, &[dependency(FACADE, None)]),
            package(FACADE, &[]),
        ],
        "",
    );
    assert_eq!(
        rules::forbidden_edges(&made_up, TABLE),
        ["tower-affinity-core -> tower-affinity (normal) is not in the table"]
    );
}

#[test]
fn a_crate_for_tests_may_not_be_shipped() {
    let as_kind = |kind| {
        let made_up = workspace(
            &[
                package(FACADE, &[dependency(TESTING, kind)]),
                package(TESTING, &[]),
            ],
            "",
        );
        rules::forbidden_edges(&made_up, TABLE)
    };
    assert_eq!(as_kind(Some("dev")), [""; 0]);
    assert_eq!(
        as_kind(None),
        ["tower-affinity -> tower-affinity-testing (normal) is not in the table"]
    );
}

#[test]
fn a_backend_is_behind_a_feature() {
    let optional = |optional| {
        let mut backend = dependency(ETCD, None);
        backend["optional"] = json!(optional);
        let made_up = workspace(&[package(FACADE, &[backend]), package(ETCD, &[])], "");
        rules::forbidden_edges(&made_up, TABLE)
    };
    assert_eq!(optional(true), [""; 0]);
    assert_eq!(
        optional(false),
        ["tower-affinity -> tower-affinity-etcd (normal) is not in the table"]
    );
}

#[test]
fn what_a_backend_reaches_is_its_own() {
    let lock = |also: &str| {
        format!(
            r#"
            {{ name = "tower-affinity", version = "0.1.0", dependencies = ["tower-affinity-etcd"{also}] }},
            {{ name = "tower-affinity-etcd", version = "0.1.0", dependencies = ["hyper"] }},
            {{ name = "hyper", version = "1.0.0" }},
        "#
        )
    };
    let reached = |also: &[Value], lock: &str| {
        let dependencies = [&[dependency(ETCD, None)], also].concat();
        let made_up = workspace(
            &[
                package(FACADE, &dependencies),
                package(ETCD, &[dependency("hyper", None)]),
            ],
            lock,
        );
        rules::banned_in_tree(&made_up, TABLE)
    };
    assert_eq!(reached(&[], &lock("")), [""; 0]);
    assert_eq!(
        reached(&[dependency("hyper", None)], &lock(r#", "hyper""#)),
        ["never: tower-affinity -> hyper"]
    );
}

#[test]
fn an_unlisted_crate_of_others_is_named() {
    let made_up = workspace(
        &[package(
            CORE,
            &[
                dependency("getrandom", None),
                dependency("proptest", Some("dev")),
            ],
        )],
        "",
    );
    assert_eq!(
        rules::forbidden_edges(&made_up, TABLE),
        ["tower-affinity-core -> getrandom (normal) is not in the table"]
    );
}

#[test]
fn a_circle_through_a_dev_dependency_is_named() {
    let made_up = workspace(
        &[
            package(CORE, &[dependency(TESTING, Some("dev"))]),
            package(TESTING, &[dependency(CORE, None)]),
        ],
        "",
    );
    assert_eq!(
        rules::circles(&made_up),
        [
            "circle: tower-affinity-core -> tower-affinity-testing -> tower-affinity-core",
            "circle: tower-affinity-testing -> tower-affinity-core -> tower-affinity-testing",
        ]
    );
}

#[test]
fn a_banned_package_is_named_with_the_way_to_it() {
    let lock = r#"
        { name = "tower-affinity-core", version = "0.1.0", dependencies = ["proptest", "serde"] },
        { name = "proptest", version = "1.0.0", dependencies = ["http"] },
        { name = "serde", version = "1.0.0", dependencies = ["helper 2.0.0"] },
        { name = "helper", version = "1.0.0", dependencies = ["metrics"] },
        { name = "helper", version = "2.0.0", dependencies = ["tokio"] },
        { name = "http", version = "1.0.0" },
        { name = "metrics", version = "1.0.0" },
        { name = "tokio", version = "1.0.0" },
    "#;
    let made_up = workspace(
        &[package(
            CORE,
            &[
                dependency("serde", None),
                dependency("proptest", Some("dev")),
            ],
        )],
        lock,
    );
    assert_eq!(
        rules::banned_in_tree(&made_up, TABLE),
        ["never: tower-affinity-core -> serde -> helper -> tokio"]
    );
}

#[test]
fn a_crate_without_a_row_is_named() {
    let made_up = workspace(&[package("newcomer", &[])], "");
    let problems = rules::unmatched(&made_up, TABLE);
    assert!(
        problems.contains(&"newcomer has no row in the table".to_owned()),
        "{problems:?}"
    );
}

#[test]
fn a_backend_that_is_a_default_two_crates_away_is_seen() {
    let mut core_dependency = dependency(CORE, None);
    core_dependency["uses_default_features"] = json!(true);
    let facade = package(FACADE, &[core_dependency]);
    let mut core = package(CORE, &[dependency("jsonwebtoken", None)]);
    core["features"] = json!({ "default": ["jwt"], "jwt": ["jsonwebtoken/rust_crypto"] });
    let made_up = workspace(&[facade, core], "");
    let asked = tree::features_asked_of(&made_up, FACADE, &[], "jsonwebtoken");
    assert!(asked.contains("rust_crypto"), "{asked:?}");
}
