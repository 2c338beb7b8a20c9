//! The workspace as cargo sees it: our manifests, and the lock file for everybody else's.
//!
//! The lock file holds the edges of every feature and platform, so a walk through it may find too
//! much and never too little, and it needs no download.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

pub(crate) struct Workspace {
    pub(crate) members: Vec<Member>,
    pub(crate) locked: Vec<Locked>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Member>,
}

#[derive(Deserialize)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) optional: bool,
    pub(crate) features: BTreeSet<String>,
    pub(crate) uses_default_features: bool,
}

#[derive(Deserialize)]
struct LockFile {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) dependencies: Vec<String>,
}

impl Workspace {
    pub(crate) fn of_this_repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("tests/ has a parent");
        let output = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--no-deps",
                "--offline",
                "--format-version",
                "1",
            ])
            .current_dir(root)
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata failed: {said}");
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).expect("Cargo.lock is there");
        Self::parse(&String::from_utf8_lossy(&output.stdout), &lock)
    }

    pub(crate) fn parse(metadata: &str, lock: &str) -> Self {
        let metadata: Metadata = serde_json::from_str(metadata).expect("cargo's metadata");
        let lock: LockFile = toml::from_str(lock).expect("cargo's lock file");
        Self {
            members: metadata.packages,
            locked: lock.package,
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    pub(crate) fn is_ours(&self, name: &str) -> bool {
        self.member(name).is_some()
    }
}

impl Member {
    /// What a user of the crate builds: everything but its dev-dependencies.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies
            .iter()
            .filter(|dependency| !dependency.is_dev())
    }
}

impl Dependency {
    pub(crate) fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}
