//! The three commits of the demo: each change is one that a team would want to ship in one piece.

use super::graph::{Graph, Node};

/// The commit that runs when the demo begins.
pub(crate) static A: Graph = Graph {
    commit: "9f1c2ab",
    nodes: &[
        Node {
            name: "contact",
            asks: "email",
        },
        Node {
            name: "identity",
            asks: "full_name",
        },
        Node {
            name: "address",
            asks: "address",
        },
        Node {
            name: "institution",
            asks: "bank",
        },
        Node {
            name: "consent",
            asks: "terms",
        },
    ],
};

/// Renames `contact`, adds `phone`, stores the name under another field and asks for the bank
/// before the address.
pub(crate) static B: Graph = Graph {
    commit: "c3d4e5f",
    nodes: &[
        Node {
            name: "email",
            asks: "email",
        },
        Node {
            name: "phone",
            asks: "phone",
        },
        Node {
            name: "identity",
            asks: "legal_name",
        },
        Node {
            name: "institution",
            asks: "bank",
        },
        Node {
            name: "address",
            asks: "address",
        },
        Node {
            name: "consent",
            asks: "terms",
        },
    ],
};

/// Drops `phone` for `passkey`, renames `institution` and records which terms were accepted.
pub(crate) static C: Graph = Graph {
    commit: "7b20d94",
    nodes: &[
        Node {
            name: "email",
            asks: "email",
        },
        Node {
            name: "passkey",
            asks: "passkey",
        },
        Node {
            name: "identity",
            asks: "legal_name",
        },
        Node {
            name: "bank",
            asks: "bank",
        },
        Node {
            name: "address",
            asks: "address",
        },
        Node {
            name: "consent",
            asks: "terms_version",
        },
    ],
};
