//! The table "Who may import whom".

pub(crate) const CORE: &str = "tower-affinity-core";
pub(crate) const FACADE: &str = "tower-affinity";
pub(crate) const DYNAMODB: &str = "tower-affinity-dynamodb";
pub(crate) const ETCD: &str = "tower-affinity-etcd";
pub(crate) const REDIS: &str = "tower-affinity-redis";
pub(crate) const TESTING: &str = "tower-affinity-testing";
pub(crate) const GATEWAY: &str = "affinity-gateway";

pub(crate) const CRYPTO_BACKENDS: &[&str] = &["aws_lc_rs", "rust_crypto"];

pub(crate) struct Row {
    pub(crate) krate: &'static str,
    /// Our crates that it may ship with.
    pub(crate) ours: &'static [&'static str],
    /// Our crates that it may ship with behind a feature. What they reach is not its own.
    pub(crate) backends: &'static [&'static str],
    /// Our crates that only its tests may use.
    pub(crate) ours_in_tests: &'static [&'static str],
    /// Other people's crates that it may ship with.
    pub(crate) others: Others,
    /// Packages that nothing it ships with may reach.
    pub(crate) never: &'static [&'static str],
}

pub(crate) enum Others {
    Any,
    Only(&'static [&'static str]),
}

const EXAMPLE: &[&str] = &[FACADE, GATEWAY, TESTING];

pub(crate) const TABLE: &[Row] = &[
    Row {
        krate: CORE,
        ours: &[],
        backends: &[],
        ours_in_tests: &[],
        // no clock, environment or random source: those are arguments
        others: Others::Only(&[
            "base64",
            "hashbrown",
            "hkdf",
            "hmac",
            "humantime",
            "jsonwebtoken",
            "libm",
            "memchr",
            "serde",
            "serde_json",
            "sha2",
            "siphasher",
            "thiserror",
        ]),
        never: &[
            "http",
            "http-body",
            "hyper",
            "metrics",
            "tokio",
            "tower",
            "tower-layer",
            "tower-service",
        ],
    },
    Row {
        krate: FACADE,
        ours: &[CORE],
        backends: &[DYNAMODB, ETCD, REDIS],
        ours_in_tests: &[TESTING],
        others: Others::Only(&[
            "arc-swap",
            "axum-core",
            "bytes",
            "cookie",
            "fastrand",
            "getrandom",
            "http",
            "http-body",
            "memchr",
            "metrics",
            "pin-project-lite",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tower-layer",
            "tower-service",
            "tracing",
        ]),
        never: &["axum", "h2", "hyper", "hyper-util", "reqwest"],
    },
    Row {
        krate: DYNAMODB,
        ours: &[CORE],
        backends: &[],
        ours_in_tests: &[TESTING],
        others: Others::Only(&[
            "aws-credential-types",
            "aws-sdk-dynamodb",
            "aws-smithy-http-client",
            "aws-smithy-types",
            "http",
            "http-body-util",
            "thiserror",
            "tokio",
        ]),
        never: &[],
    },
    Row {
        krate: ETCD,
        ours: &[CORE],
        backends: &[],
        ours_in_tests: &[TESTING],
        others: Others::Only(&["etcd-client", "http", "thiserror", "tokio"]),
        never: &[],
    },
    Row {
        krate: REDIS,
        ours: &[CORE],
        backends: &[],
        ours_in_tests: &[TESTING],
        others: Others::Only(&["redis", "thiserror", "tokio"]),
        never: &[],
    },
    Row {
        krate: TESTING,
        ours: &[CORE],
        backends: &[],
        ours_in_tests: &[],
        others: Others::Only(&["tokio"]),
        never: &[],
    },
    Row {
        krate: GATEWAY,
        ours: &[FACADE],
        backends: &[],
        ours_in_tests: &[TESTING],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "gateway",
        ours: EXAMPLE,
        backends: &[],
        ours_in_tests: &[],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "axum-service",
        ours: EXAMPLE,
        backends: &[],
        ours_in_tests: &[],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "three-services",
        ours: EXAMPLE,
        backends: &[],
        ours_in_tests: &[],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "tonic-grpc",
        ours: EXAMPLE,
        backends: &[],
        ours_in_tests: &[],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "tower-stack",
        ours: EXAMPLE,
        backends: &[],
        ours_in_tests: &[],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-tests",
        ours: EXAMPLE,
        backends: &[],
        ours_in_tests: &["axum-service", "gateway", "tower-stack"],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-browser-tests",
        ours: &[],
        backends: &[],
        ours_in_tests: &[GATEWAY, "affinity-tests"],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-dynamodb-tests",
        ours: &[],
        backends: &[],
        ours_in_tests: &[CORE, DYNAMODB, FACADE, GATEWAY, TESTING, "affinity-tests"],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-etcd-tests",
        ours: &[],
        backends: &[],
        ours_in_tests: &[FACADE, GATEWAY, TESTING, "affinity-tests"],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-redis-tests",
        ours: &[],
        backends: &[],
        ours_in_tests: &[CORE, FACADE, GATEWAY, REDIS, TESTING, "affinity-tests"],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-otel-tests",
        ours: &[],
        backends: &[],
        ours_in_tests: &[GATEWAY, "affinity-tests"],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-proxies-tests",
        ours: &[],
        backends: &[],
        ours_in_tests: &[TESTING, "affinity-tests"],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-compare",
        ours: &["affinity-tests"],
        backends: &[],
        ours_in_tests: &[],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-measure",
        ours: &[CORE, FACADE, "affinity-tests"],
        backends: &[],
        ours_in_tests: &[],
        others: Others::Any,
        never: &[],
    },
    Row {
        krate: "affinity-interleavings",
        ours: &[],
        backends: &[],
        ours_in_tests: &[CORE],
        others: Others::Any,
        never: &[],
    },
];
