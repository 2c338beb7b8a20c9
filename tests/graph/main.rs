//! Who may import whom: the manifests and the lock file against the table in `table.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod made_up;
mod manifest;
mod rules;
mod table;
mod tree;

use manifest::Workspace;
use table::{CORE, CRYPTO_BACKENDS, FACADE, GATEWAY, TABLE};

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_crate_has_a_row_and_every_row_a_crate() {
    assert_none(&rules::unmatched(&Workspace::of_this_repository(), TABLE));
}

#[test]
fn our_crates_import_only_what_the_table_lists() {
    assert_none(&rules::forbidden_edges(
        &Workspace::of_this_repository(),
        TABLE,
    ));
}

#[test]
fn our_crates_form_no_circle_dev_dependencies_included() {
    assert_none(&rules::circles(&Workspace::of_this_repository()));
}

#[test]
fn nothing_banned_is_reached_through_others() {
    assert_none(&rules::banned_in_tree(
        &Workspace::of_this_repository(),
        TABLE,
    ));
}

#[test]
fn the_walk_through_the_lock_file_reaches_what_is_there() {
    let workspace = Workspace::of_this_repository();
    for (krate, far) in [
        (CORE, "digest"),
        (FACADE, "http"),
        (FACADE, "tonic"),
        (GATEWAY, "hyper"),
        (GATEWAY, "mio"),
    ] {
        assert!(
            tree::path_to(&workspace, krate, far, &[]).is_some(),
            "{krate} is known to reach {far}, but the walk did not find it"
        );
    }
}

#[test]
fn the_facade_chooses_no_crypto_backend_by_itself() {
    let workspace = Workspace::of_this_repository();
    let chosen = tree::features_asked_of(&workspace, FACADE, &["default"], "jsonwebtoken");
    for backend in CRYPTO_BACKENDS {
        assert!(
            !chosen.contains(*backend),
            "{FACADE} switches on `{backend}` of jsonwebtoken by default; the choice is the user's"
        );
    }
}

#[test]
fn each_crypto_feature_of_the_facade_chooses_one_backend() {
    let workspace = Workspace::of_this_repository();
    for (feature, backend) in [
        ("jwt-rust-crypto", "rust_crypto"),
        ("jwt-aws-lc-rs", "aws_lc_rs"),
    ] {
        let asked = tree::features_asked_of(&workspace, FACADE, &[feature], "jsonwebtoken");
        let chosen: Vec<_> = asked
            .iter()
            .filter(|f| CRYPTO_BACKENDS.contains(&f.as_str()))
            .collect();
        assert_eq!(chosen, [backend], "feature `{feature}` of {FACADE}");
    }
}
