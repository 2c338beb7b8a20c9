//! Groups that are no valid rollout, and addresses that cannot be.

use super::wrong::refused;
use super::{EXAMPLE, MINIMAL, edited, read};

#[test]
fn group_names_are_valid_and_unique() {
    refused(
        "\"c3d4e5f\"",
        "\"9f1c2ab\"",
        "group[1].name",
        &["group[0]", "unique"],
    );
    for bad in ["", "a b", "none", "a/b", "-a", &"a".repeat(129)] {
        refused(
            "\"c3d4e5f\"",
            &format!("\"{bad}\""),
            "group[1].name",
            &["A-Z a-z"],
        );
    }
}

#[test]
fn exactly_one_group_is_stable() {
    refused(
        "state     = \"active\"",
        "stable = true",
        "group[1].stable",
        &["9f1c2ab", "exactly one"],
    );
    let error = read(&edited("stable    = true\n", "")).unwrap_err();
    assert_eq!(error.key_path(), Some("group"), "{error}");
    assert!(error.to_string().contains("no group is stable"), "{error}");
    let error = read(&format!("{MINIMAL}stable = false\n")).unwrap_err();
    assert!(error.to_string().contains("no group is stable"), "{error}");
}

#[test]
fn the_stable_group_is_active() {
    for state in ["staged", "draining", "retired"] {
        let to = format!("stable = true\nstate = \"{state}\"");
        let from = "weight    = 90\nstable    = true";
        refused(from, &to, "group[0].state", &["accepted: \"active\""]);
    }
}

#[test]
fn only_active_groups_have_weight() {
    for state in ["staged", "draining", "retired"] {
        let to = format!("weight = 10\nstate = \"{state}\"");
        let from = "weight    = 10\nstate     = \"active\"";
        refused(from, &to, "group[1].weight", &[state, "accepted: 0"]);
    }
}

#[test]
fn weights_are_not_all_0() {
    let text = edited("weight    = 90", "weight = 0").replace("weight    = 10\n", "");
    let error = read(&text).unwrap_err();
    assert_eq!(error.key_path(), Some("group"));
    assert!(
        error.to_string().contains("weights of all groups are 0"),
        "{error}"
    );
    let error = read(&format!("{MINIMAL}weight = 0\n")).unwrap_err();
    assert!(
        error.to_string().contains("weights of all groups are 0"),
        "{error}"
    );
}

#[test]
fn an_abort_names_its_target_and_only_an_abort_does() {
    let from = "weight    = 10\nstate     = \"active\"";
    let error = read(&edited(from, "state = \"aborted\"")).unwrap_err();
    assert_eq!(
        (error.key_path(), error.line()),
        (Some("group[1].abort_to"), Some(26))
    );
    let to = "abort_to = \"9f1c2ab\"";
    refused(from, to, "group[1].abort_to", &["state = \"aborted\""]);
    for target in ["c3d4e5f", "other", ""] {
        let to = format!("state = \"aborted\"\nabort_to = \"{target}\"");
        refused(from, &to, "group[1].abort_to", &["accepted: "]);
    }
    refused(
        from,
        "state = \"evicted\"",
        "group[1].state",
        &["\"staged\"", "\"retired\""],
    );
    let staged = "\n[[group]]\nname = \"s\"\nstate = \"staged\"\nendpoints = [\"127.0.0.1:7009\"]\n[[scope]]";
    let text =
        edited(from, "state = \"aborted\"\nabort_to = \"s\"").replacen("\n[[scope]]", staged, 1);
    let error = read(&text).unwrap_err();
    assert_eq!(
        error.key_path(),
        Some("group[1].abort_to"),
        "a staged target: {error}"
    );
}

#[test]
fn endpoints_are_addresses_that_can_be_dialled() {
    for bad in [
        "localhost:7003",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:70000",
        "0.0.0.0:7003",
        "[::]:7003",
        "224.0.0.1:7003",
        "255.255.255.255:7003",
        "http://127.0.0.1:7003",
        " 127.0.0.1:7003",
        "",
    ] {
        let words = ["an IP address and a port"];
        refused(
            "\"127.0.0.1:7003\"",
            &format!("\"{bad}\""),
            "group[1].endpoints[0]",
            &words,
        );
    }
    assert!(read(&edited("127.0.0.1:7003", "[2001:db8::1]:7003")).is_ok());
    let none = "endpoints = []";
    refused(
        "endpoints = [\"127.0.0.1:7003\"]",
        none,
        "group[1].endpoints",
        &["is empty"],
    );
}

#[test]
fn an_endpoint_belongs_to_one_group_once() {
    let words = ["9f1c2ab", "already"];
    for twice in ["127.0.0.1:7001", "[::ffff:127.0.0.1]:7001"] {
        let twice = format!("\"{twice}\"");
        refused(
            "\"127.0.0.1:7003\"",
            &twice,
            "group[1].endpoints[0]",
            &words,
        );
        refused(
            "\"127.0.0.1:7002\"",
            &twice,
            "group[0].endpoints[1]",
            &words,
        );
    }
}

#[test]
fn the_gateway_is_not_an_endpoint_of_its_own() {
    let words = ["the gateway itself", "listen.address"];
    refused(
        "127.0.0.1:7003",
        "127.0.0.1:8080",
        "group[1].endpoints[0]",
        &words,
    );
    let everywhere = edited("127.0.0.1:8080", "0.0.0.0:8080");
    let error = read(&everywhere.replace("127.0.0.1:7003", "127.0.0.1:8080")).unwrap_err();
    assert_eq!(error.key_path(), Some("group[1].endpoints[0]"), "{error}");
    assert!(read(&everywhere.replace("127.0.0.1:7003", "10.0.0.1:8080")).is_ok());
}

#[test]
fn there_are_bounds_to_how_many() {
    let groups: String = (0..63)
        .map(|n| {
            format!(
                "[[group]]\nname = \"g{n}\"\nendpoints = [\"127.0.0.1:{}\"]\n",
                8100 + n
            )
        })
        .collect();
    let most = MINIMAL.replace("[[group]]", "[[group]]\nstable = true\nweight = 1");
    assert!(
        read(&format!("{most}{groups}")).is_ok(),
        "64 groups are accepted"
    );
    let error = read(&format!("{EXAMPLE}{groups}")).unwrap_err();
    assert_eq!(error.key_path(), Some("group"));
    assert!(error.to_string().contains("at most 64"), "{error}");

    let endpoints = |count: u32| {
        let list: Vec<_> = (0..count)
            .map(|n| format!("\"10.{}.{}.1:80\"", n / 256, n % 256))
            .collect();
        MINIMAL.replace("\"127.0.0.1:7001\"", &list.join(","))
    };
    assert!(
        read(&endpoints(10_000)).is_ok(),
        "10,000 endpoints are accepted"
    );
    let error = read(&endpoints(10_001)).unwrap_err();
    assert!(error.to_string().contains("at most 10000"), "{error}");
}

#[test]
fn listeners_do_not_meet() {
    let words = ["127.0.0.1:8080", "the same place"];
    refused("127.0.0.1:9090", "127.0.0.1:8080", "listen.admin", &words);
    let error = read(&edited("127.0.0.1:8080", "0.0.0.0:9090")).unwrap_err();
    assert_eq!(error.key_path(), Some("listen.admin"), "{error}");
    let error = read(&format!(
        "{MINIMAL}[listen]\naddress = \"127.0.0.1:9090\"\n"
    ))
    .unwrap_err();
    assert_eq!(
        error.key_path(),
        Some("listen.address"),
        "told where it was written: {error}"
    );
    for bad in [
        "",
        "8080",
        ":8080",
        "localhost:8080",
        "127.0.0.1:8080\\r\\nx",
        "224.0.0.1:80",
    ] {
        refused(
            "\"127.0.0.1:8080\"",
            &format!("\"{bad}\""),
            "listen.address",
            &["an IP address"],
        );
    }
}

#[test]
fn trusted_proxies_are_networks() {
    for bad in [
        "10.0.0.1",
        "10.1.2.3/8",
        "10.0.0.0/33",
        "::/129",
        "proxy",
        "*",
        "",
    ] {
        let to = format!("trusted_proxies = [\"{bad}\"]");
        refused(
            "trusted_proxies  = []",
            &to,
            "listen.trusted_proxies[0]",
            &["a CIDR"],
        );
    }
    let good = "trusted_proxies = [\"10.0.0.0/8\", \"192.0.2.7/32\", \"2001:db8::/32\"]";
    assert!(read(&edited("trusted_proxies  = []", good)).is_ok());
}

#[test]
fn a_group_declares_itself_compatible_with_others_once_each() {
    let from = "compatible_with = []";
    for (with, key, why) in [
        (
            "[\"c3d4e5f\"]",
            "group[1].compatible_with[0]",
            "the group itself",
        ),
        (
            "[\"9f1c2ab\", \"old\", \"9f1c2ab\"]",
            "group[1].compatible_with[2]",
            "each group once",
        ),
        ("[\"a b\"]", "group[1].compatible_with[0]", "A-Z a-z"),
        ("[1]", "group[1].compatible_with[0]", "such as a commit"),
        ("\"9f1c2ab\"", "group[1].compatible_with", "an array"),
    ] {
        refused(from, &format!("compatible_with = {with}"), key, &[why]);
    }
    let many: Vec<_> = (0..65).map(|n| format!("\"g{n}\"")).collect();
    let many = format!("compatible_with = [{}]", many.join(","));
    refused(from, &many, "group[1].compatible_with", &["at most 64"]);
    // a group that is retired by now is what it is for
    let text = edited(
        from,
        "compatible_with = [\"9f1c2ab\", \"retired-long-ago\"]",
    );
    assert_eq!(read(&text).unwrap().groups[1].compatible_with.len(), 2);
}
