//! The page that describes the file: its examples are right, and it names every key.

use super::{MINIMAL, read, settings, tls};

const PAGE: &str = include_str!("../../../../../docs/configuration.md");

/// The TOML examples of a page, without the fences.
fn examples(page: &'static str) -> impl Iterator<Item = &'static str> {
    page.split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
}

/// An example as a whole file: what it does not say itself is taken from the least configuration.
fn completed(example: &str) -> String {
    if example.contains("service =") {
        return example.to_owned();
    }
    let (head, group) = MINIMAL.split_once("[[group]]").unwrap();
    let (service, pin) = head.split_once("[pin]").unwrap();
    let mut text = service.to_owned();
    if !example.contains("[pin]") {
        text.push_str(&format!("[pin]{pin}"));
    }
    if !example.contains("[[group]]") {
        text.push_str(&format!("[[group]]{group}"));
    }
    text + example
}

/// A heading's part of the page, up to the next heading.
fn part(heading: &str) -> &'static str {
    let line = format!("\n{heading}\n");
    let (_, rest) = PAGE
        .split_once(&line)
        .unwrap_or_else(|| panic!("the page has no heading {heading}"));
    rest.split("\n#").next().unwrap()
}

#[test]
fn the_examples_of_the_page_are_accepted() {
    assert!(examples(PAGE).count() >= 9, "examples were lost");
    // the files that the page names are on the machine of whoever reads it
    let tls = tls::directory();
    let here = format!("{}/", tls.path().display());
    for example in examples(PAGE) {
        settings(&completed(&example.replace("/etc/affinity/tls/", &here)));
    }
}

#[test]
fn the_gateway_of_the_readme_is_accepted() {
    let readme = include_str!("../../../../../README.md");
    let gateway = examples(readme).find(|example| example.contains("[[group]]"));
    settings(gateway.expect("the README shows a gateway's file"));
}

#[test]
fn every_key_has_a_row_in_its_table() {
    for (heading, text) in [
        ("## Top level", format!("stranger = 1\n{MINIMAL}")),
        ("## `[listen]`", format!("{MINIMAL}[listen]\nstranger = 1")),
        (
            "### `listen.tls`",
            format!("{MINIMAL}[listen]\ntls = {{ cert = \"c\", key = \"k\", stranger = 1 }}"),
        ),
        (
            "## `[pin]`",
            MINIMAL.replace("[pin]", "[pin]\nstranger = 1"),
        ),
        (
            "### `pin.cookie`",
            MINIMAL.replace("[pin]", "[pin]\ncookie = { stranger = 1 }"),
        ),
        (
            "## `[upstream]`",
            format!("{MINIMAL}[upstream]\nstranger = 1"),
        ),
        (
            "### `upstream.retries`",
            format!("{MINIMAL}[upstream]\nretries = {{ stranger = 1 }}"),
        ),
        (
            "### `upstream.tls`",
            format!("{MINIMAL}[upstream.tls]\nstranger = 1\nca = \"absent.pem\""),
        ),
        (
            "### `upstream.dns`",
            format!("{MINIMAL}[upstream.dns]\nstranger = 1\nservers = [\"127.0.0.1:53\"]"),
        ),
        (
            "### `upstream.health`",
            format!("{MINIMAL}[upstream]\nhealth = {{ stranger = 1 }}"),
        ),
        (
            "### `upstream.ejection`",
            format!("{MINIMAL}[upstream]\nejection = {{ stranger = 1 }}"),
        ),
        ("## `[[group]]`", format!("{MINIMAL}stranger = 1")),
        (
            "## `[[scope]]`",
            format!("{MINIMAL}[[scope]]\npath = \"/*\"\nstranger = 1"),
        ),
        (
            "## `[[experiment]]`",
            format!("{MINIMAL}[[experiment]]\nname = \"e\"\narms = {{ a = 1 }}\nstranger = 1"),
        ),
        (
            "## `[rollback]`",
            format!("{MINIMAL}[rollback]\nstranger = 1"),
        ),
        (
            "## `[analysis]`",
            format!("{MINIMAL}[analysis]\nstranger = 1"),
        ),
        ("## `[state]`", format!("{MINIMAL}[state]\nstranger = 1")),
        (
            "## `[store]`",
            format!("{MINIMAL}[store]\nkind = \"memory\"\nstranger = 1"),
        ),
        (
            "## `[store]`",
            format!("{MINIMAL}[store]\nkind = \"redis\"\nurl = \"redis://a:1\"\nstranger = 1"),
        ),
        (
            "## `[access_log]`",
            format!("{MINIMAL}[access_log]\npath = \"a\"\nstranger = 1"),
        ),
        (
            "## `[store]`",
            format!(
                "{MINIMAL}[store]\nkind = \"dynamodb\"\ntable = \"affinity\"\nregion = \"r\"\n\
                 access_key_id = \"env:K\"\nsecret_access_key = \"env:K\"\nstranger = 1"
            ),
        ),
    ] {
        // the refusal of an unknown key names all that are known there
        let error = read(&text).unwrap_err();
        let (_, known) = error.message().split_once("accepted here: ").unwrap();
        for key in known.split(", ") {
            let row = format!("\n| `{key}` | ");
            assert!(part(heading).contains(&row), "{heading} has no row {row}");
        }
    }
}
