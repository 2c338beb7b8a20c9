//! Where endpoints are found that are not listed.

use std::path::Path;

use super::{DIR, MINIMAL, read, settings};
use crate::config::Discovery;

const LISTED: &str = "endpoints = [\"127.0.0.1:7001\"]";

fn with(source: &str) -> String {
    assert!(MINIMAL.contains(LISTED));
    MINIMAL.replace(LISTED, source)
}

#[test]
fn a_group_names_one_source_of_its_endpoints() {
    let dns = settings(&with("dns = \"checkout-9f1c2ab.shop.svc:8080\""));
    let Some(Discovery::Dns(name)) = &dns.groups[0].discovery else {
        panic!("{:?}", dns.groups[0]);
    };
    assert_eq!(
        (name.host.as_str(), name.port),
        ("checkout-9f1c2ab.shop.svc", 8080)
    );
    assert!(dns.groups[0].endpoints.is_empty());
    assert!(
        dns.effective()
            .contains("dns = \"checkout-9f1c2ab.shop.svc:8080\"")
    );
    assert_eq!(settings(&dns.effective()), dns);

    let file = settings(&with("endpoints_file = \"9f1c2ab.endpoints\""));
    let path = Path::new(DIR).join("9f1c2ab.endpoints");
    assert_eq!(file.groups[0].discovery, Some(Discovery::File(path)));
    assert_eq!(settings(&file.effective()), file);

    assert_eq!(settings(MINIMAL).groups[0].discovery, None);
}

#[test]
fn the_servers_that_are_asked_can_be_named() {
    let text = format!("{MINIMAL}[upstream]\ndns = {{ servers = [\"127.0.0.1:5353\"] }}");
    let named = settings(&text);
    assert_eq!(
        named.upstream.dns_servers,
        ["127.0.0.1:5353".parse().unwrap()]
    );
    assert_eq!(settings(&named.effective()), named);
    assert!(settings(MINIMAL).upstream.dns_servers.is_empty());
}

#[test]
fn a_source_that_is_none_is_refused_with_its_key() {
    for (source, key) in [
        ("", "group[0].endpoints"),
        (&format!("{LISTED}\ndns = \"a.b:80\""), "group[0].dns"),
        (
            "dns = \"a.b:80\"\nendpoints_file = \"f\"",
            "group[0].endpoints_file",
        ),
        ("dns = \"a.b\"", "group[0].dns"),
        ("dns = \"a.b:0\"", "group[0].dns"),
        ("dns = \"a.b:65536\"", "group[0].dns"),
        ("dns = \"10.0.0.7:80\"", "group[0].dns"),
        ("dns = \"[::1]:80\"", "group[0].dns"),
        ("dns = \"a..b:80\"", "group[0].dns"),
        ("dns = \":80\"", "group[0].dns"),
        ("dns = \"a b:80\"", "group[0].dns"),
        ("dns = 80", "group[0].dns"),
        ("endpoints_file = \"\"", "group[0].endpoints_file"),
        ("endpoints_file = \"pods/\"", "group[0].endpoints_file"),
    ] {
        let error = read(&with(source)).expect_err(source);
        assert!(error.to_string().contains(key), "{source}: {error}");
    }
    let error = read(&with("")).expect_err("no source").to_string();
    assert!(error.contains("dns or endpoints_file"), "{error}");
    let error = read(&with("endpoints = [\"localhost:80\"]")).expect_err("a name");
    assert!(error.to_string().contains("goes into dns"), "{error}");
    for (servers, key) in [
        ("{}", "upstream.dns.servers"),
        ("{ servers = [] }", "upstream.dns.servers"),
        ("{ servers = \"127.0.0.1:53\" }", "upstream.dns.servers"),
        ("{ servers = [\"127.0.0.1\"] }", "upstream.dns.servers[0]"),
        ("{ server = [] }", "upstream.dns.server"),
    ] {
        let text = format!("{MINIMAL}[upstream]\ndns = {servers}");
        let error = read(&text).expect_err(servers);
        assert!(error.to_string().contains(key), "{servers}: {error}");
    }
}
