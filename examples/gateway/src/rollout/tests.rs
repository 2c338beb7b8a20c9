//! Arguments in, questions out; answers in, text out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clap::Parser;
use serde_json::{Value, json};

use super::{
    Rollout, endpoint, held::Held, preview, replicas, show, told, verb::Verb, view::RolloutView,
};
use crate::exit::{Exit, Failure};

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    rollout: Rollout,
}

fn parse(line: &str) -> Result<Rollout, clap::Error> {
    let words = std::iter::once("rollout").chain(line.split_whitespace());
    Cli::try_parse_from(words).map(|cli| cli.rollout)
}

/// The call as text: method, path, the revision that is expected, body.
fn asked(line: &str) -> Result<String, Failure> {
    let rollout = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let change = rollout.verb.change()?.expect("it changes something");
    Ok(change.call.to_string())
}

#[test]
fn each_verb_asks_for_its_change() {
    for (line, expected) in [
        (
            "register c3d4e5f --endpoint 127.0.0.1:7003 --endpoint [::1]:7004 --weight 10",
            r#"POST /v1/groups {"endpoints":["127.0.0.1:7003","[::1]:7004"],"name":"c3d4e5f","weight":10}"#,
        ),
        (
            "register c3d4e5f --endpoint 127.0.0.1:7003 127.0.0.1:7004",
            r#"POST /v1/groups {"endpoints":["127.0.0.1:7003","127.0.0.1:7004"],"name":"c3d4e5f","weight":0}"#,
        ),
        (
            "weights 9f1c2ab=50 c3d4e5f=0 --if-match 41",
            r#"PUT /v1/rollout/weights if 41 {"9f1c2ab":50,"c3d4e5f":0}"#,
        ),
        (
            "promote c3d4e5f --if-match 7",
            "POST /v1/groups/c3d4e5f/promote if 7 {}",
        ),
        (
            "drain c3d4e5f --preview --if-match 7",
            "POST /v1/groups/c3d4e5f/drain?preview=true if 7 {}",
        ),
        (
            "weights c3d4e5f=1 --preview",
            r#"PUT /v1/rollout/weights?preview=true {"c3d4e5f":1}"#,
        ),
        (
            "unlock --preview",
            "POST /v1/rollout/unlock?preview=true {}",
        ),
        ("lock", "POST /v1/rollout/lock {}"),
        ("unlock --if-match 7", "POST /v1/rollout/unlock if 7 {}"),
        ("drain c3d4e5f", "POST /v1/groups/c3d4e5f/drain {}"),
        ("restore sha256:ab", "POST /v1/groups/sha256:ab/restore {}"),
        (
            "abort c3d4e5f",
            r#"POST /v1/groups/c3d4e5f/abort {"force":false,"policy":null,"to":null,"within":null}"#,
        ),
        (
            "abort c3d4e5f --to 9f1c2ab --policy stay --within 90s --force",
            r#"POST /v1/groups/c3d4e5f/abort {"force":true,"policy":"stay","to":"9f1c2ab","within":"1m 30s"}"#,
        ),
        (
            "retire c3d4e5f",
            r#"POST /v1/groups/c3d4e5f/retire {"force":false}"#,
        ),
        (
            "retire c3d4e5f --force",
            r#"POST /v1/groups/c3d4e5f/retire {"force":true}"#,
        ),
    ] {
        assert_eq!(asked(line).unwrap(), expected, "for {line}");
    }
}

#[test]
fn one_endpoint_is_drained_and_taken_back_by_its_address() {
    let called = |line: &str| match parse(line).unwrap().verb {
        Verb::DrainEndpoint(drain) => drain.call().to_string(),
        Verb::UndrainEndpoint(undrain) => undrain.call().to_string(),
        other => panic!("{line} is {other:?}"),
    };
    for (line, expected) in [
        (
            "drain-endpoint 9f1c2ab 10.0.0.7:8080",
            r#"POST /v1/groups/9f1c2ab/endpoints/10.0.0.7:8080/drain {"force":false}"#,
        ),
        (
            "drain-endpoint 9f1c2ab [::1]:8080 --force --if-match 7",
            r#"POST /v1/groups/9f1c2ab/endpoints/[::1]:8080/drain if 7 {"force":true}"#,
        ),
        (
            "undrain-endpoint 9f1c2ab 10.0.0.7:8080 --preview",
            "POST /v1/groups/9f1c2ab/endpoints/10.0.0.7:8080/undrain?preview=true {}",
        ),
    ] {
        assert_eq!(called(line), expected, "for {line}");
    }
}

#[test]
fn a_person_reads_what_is_left_at_a_drained_endpoint() {
    let read = |answer: Value| serde_json::from_value::<endpoint::Marked>(answer).unwrap();
    let alone = read(json!({
        "verb": "drain-endpoint", "revision": 7, "held": "all", "changed": true,
        "group": "9f1c2ab", "ready_others": 2,
        "endpoint": { "address": "10.0.0.7:8080", "state": "draining", "in_flight": 3 },
    }));
    assert_eq!(
        alone.told_alone(),
        "done: draining, 3 in flight, 2 others ready"
    );
    let shared = read(json!({
        "verb": "drain-endpoint", "revision": 7, "held": "replica", "changed": false,
        "group": "9f1c2ab", "ready_others": 0, "endpoint": null,
        "bound": { "at_most": 40, "last_expiry": 60 },
    }));
    assert_eq!(
        shared.told_alone(),
        "nothing to change: not among its endpoints now, 0 others ready, at most 40 sessions bound \
         to it (the last pin ends 1970-01-01T00:01:00Z)\n\
         the other replicas were not told: name each with --admin URL"
    );
}

#[test]
fn bad_usage_exits_2_and_says_what_is_accepted() {
    for (line, accepted) in [
        ("", "Usage"),
        ("shake", "unrecognized subcommand"),
        ("weights", "GROUP=N"),
        ("weights c3d4e5f", "accepted: GROUP=N, such as c3d4e5f=10"),
        ("weights c3d4e5f=", "an integer from 0 to 10000"),
        ("weights c3d4e5f=-1", "an integer from 0 to 10000"),
        ("weights c3d4e5f=+1", "an integer from 0 to 10000"),
        ("weights c3d4e5f=1.5", "an integer from 0 to 10000"),
        ("weights c3d4e5f=10001", "an integer from 0 to 10000"),
        (
            "weights c3d4e5f=99999999999999999999",
            "an integer from 0 to 10000",
        ),
        ("weights =1", "1 to 128 of"),
        ("weights none=1", "1 to 128 of"),
        ("drain ../../v1", "1 to 128 of"),
        ("drain-endpoint a", "<ADDRESS>"),
        ("drain-endpoint a localhost:80", "<ADDRESS>"),
        ("undrain-endpoint a 10.0.0.7:8080 --force", "--force"),
        ("wait a", "--drained"),
        ("wait a --drained --timeout soon", "--timeout"),
        ("drain", "<GROUP>"),
        ("drain a --force", "--force"),
        ("show --preview", "--preview"),
        ("register a", "--endpoint"),
        ("register a --endpoint localhost:7001", "--endpoint"),
        ("register a --endpoint 127.0.0.1", "--endpoint"),
        ("abort a --policy leave", "possible values: move, stay, end"),
        ("abort a --within soon", "accepted: a duration such as 10m"),
        ("promote a --if-match new", "--if-match"),
        ("show --admin https://127.0.0.1:9090", "http://HOST:PORT"),
    ] {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "for {line:?}");
        let message = error.to_string();
        assert!(message.contains(accepted), "{line:?} was told: {message}");
    }
}

#[test]
fn a_group_with_two_weights_is_bad_usage() {
    let failure = asked("weights a=1 b=2 a=3").unwrap_err();
    assert_eq!(failure.exit, Exit::Usage);
    assert_eq!(
        failure.problem.detail,
        "a has two weights; accepted: one for each group"
    );
}

#[test]
fn shared_options_go_before_and_after_the_verb() {
    for line in [
        "--json --admin http://127.0.0.1:1 show",
        "show --json --admin http://127.0.0.1:1",
    ] {
        assert!(parse(line).unwrap().json, "for {line}");
    }
}

fn group(name: &str, state: &str, weight: u64, endpoints: &[&str], more: &Value) -> Value {
    let endpoints: Vec<_> = endpoints
        .iter()
        .map(|state| json!({ "address": "127.0.0.1:1", "state": state, "in_flight": 1 }))
        .collect();
    let mut group = json!({
        "name": name, "generation": 1, "state": state, "weight": weight, "stable": false, "drained": false,
        "in_flight": endpoints.len(), "endpoints": endpoints,
    });
    group
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    group
}

fn rollout(groups: &[Value]) -> Value {
    json!({
        "revision": 42, "step_revision": 42, "draw_revision": 40, "stable": "9f1c2ab",
        "former_stable": [], "locked": false, "groups": groups,
    })
}

fn shown(groups: &[Value]) -> String {
    let view: RolloutView = serde_json::from_value(rollout(groups)).unwrap();
    show::table(&view)
}

#[test]
fn the_table_has_a_row_for_each_group() {
    let groups = [
        group(
            "9f1c2ab",
            "active",
            2,
            &["ready", "unhealthy"],
            &json!({ "stable": true }),
        ),
        group("c3d4e5f", "active", 1, &["unhealthy"], &json!({})),
        group(
            "release-with-a-long-name",
            "draining",
            0,
            &["ready"],
            &json!({
                "draining_since": 0, "drained_by": 14_400,
            }),
        ),
        group(
            "a1b2c3d",
            "aborted",
            0,
            &["ready"],
            &json!({
                "abort": { "target": "9f1c2ab", "policy": "stay", "at": 0, "until": 600 },
            }),
        ),
        group(
            "0ddba11",
            "aborted",
            0,
            &[],
            &json!({
                "abort": { "target": "9f1c2ab", "policy": "move", "at": 0 },
            }),
        ),
        group(
            "next",
            "staged",
            0,
            &["ready", "ready", "ready"],
            &json!({}),
        ),
    ];
    assert_eq!(
        shown(&groups),
        "\
revision 42
GROUP                     STATE     WEIGHT  SHARE  ENDPOINTS  IN-FLIGHT  NOTES
9f1c2ab                   active    2       66.7%  1/2        2          stable
c3d4e5f                   active    1       33.3%  0/1        1          no ready endpoint
release-with-a-long-name  draining  0       -      1/1        1          until 1970-01-01T04:00:00Z
a1b2c3d                   aborted   0       -      1/1        1          to 9f1c2ab (stay until 1970-01-01T00:10:00Z)
0ddba11                   aborted   0       -      0/0        0          to 9f1c2ab (move)
next                      staged    0       -      3/3        3"
    );
}

#[test]
fn a_source_of_endpoints_that_fails_is_told_where_the_group_serves() {
    let source = |stale: u64, failure: Value| json!({ "source": { "from": "dns a.test:80", "stale_seconds": stale, "failure": failure } });
    let groups = [
        group("a", "active", 1, &["ready"], &source(0, Value::Null)),
        group("b", "active", 1, &["ready"], &source(8, json!("error"))),
        group("c", "draining", 0, &["ready"], &source(0, json!("taken"))),
        group("d", "aborted", 0, &["ready"], &source(9, json!("empty"))),
    ];
    let shown = shown(&groups);
    let notes: Vec<_> = shown
        .lines()
        .skip(2)
        .map(|line| line.split_once("source").map(|(_, note)| note))
        .collect();
    assert_eq!(notes, [None, Some(": error for 8s"), Some(": taken"), None]);
}

#[test]
fn endpoints_that_an_operator_drains_are_told() {
    let mut groups = [1, 2].map(|drained| {
        let mut group = group(
            "a",
            "active",
            1,
            &["ejected", "draining", "ready"],
            &json!({}),
        );
        for endpoint in group["endpoints"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .take(drained)
        {
            endpoint["drain"] = json!(true);
        }
        group
    });
    groups[1]["name"] = json!("b");
    let shown = shown(&groups);
    let notes: Vec<_> = shown
        .lines()
        .skip(2)
        .filter_map(|line| line.rsplit_once("  ").map(|(_, note)| note))
        .collect();
    assert_eq!(notes, ["1 endpoint drains", "2 endpoints drain"]);
}

#[test]
fn a_locked_rollout_is_shown_as_such() {
    let mut locked = rollout(&[]);
    locked["locked"] = json!(true);
    let table = show::table(&serde_json::from_value(locked).unwrap());
    let first = table.lines().next().unwrap();
    assert_eq!(
        first,
        "revision 42, locked: only an abort is accepted until unlock"
    );
}

#[test]
fn a_share_is_never_rounded_to_all_or_none() {
    let groups = [("a", 9_999), ("b", 1), ("c", 0)]
        .map(|(name, weight)| group(name, "active", weight, &["ready"], &json!({})));
    let shown = shown(&groups);
    let shares: Vec<_> = shown
        .lines()
        .skip(2)
        .filter_map(|l| l.split_whitespace().nth(3))
        .collect();
    assert_eq!(shares, [">99.9%", "<0.1%", "0%"]);
}

#[test]
fn a_change_is_told_with_revisions_weights_and_the_named_group() {
    let groups = [
        group(
            "9f1c2ab",
            "active",
            100,
            &["ready"],
            &json!({ "stable": true }),
        ),
        group(
            "c3d4e5f",
            "aborted",
            0,
            &["ready"],
            &json!({
                "abort": { "target": "9f1c2ab", "policy": "move", "at": 0 },
            }),
        ),
    ];
    let mut accepted = json!({
        "before": 41, "revision": 42, "held": "all", "changed": true, "rollout": rollout(&groups),
    });
    let told = |accepted: &Value| {
        let named = "c3d4e5f".parse().unwrap();
        told::changed(
            Some(&named),
            &serde_json::from_value(accepted.clone()).unwrap(),
        )
    };
    let state = "weights 9f1c2ab=100\nc3d4e5f is aborted, to 9f1c2ab (move)";
    assert_eq!(told(&accepted), format!("revision 41 -> 42\n{state}"));
    accepted["before"] = json!(42);
    assert_eq!(
        told(&accepted),
        format!("revision 42 stays\n{state}"),
        "what only this replica knows has no number"
    );
    accepted["changed"] = json!(false);
    assert_eq!(
        told(&accepted),
        format!("revision 42: nothing to change\n{state}")
    );
}

#[test]
fn facts_are_asked_for_and_dropped() {
    for (line, expected) in [
        ("facts", "GET /v1/facts "),
        ("facts drop c3d4e5f", "DELETE /v1/facts/c3d4e5f {}"),
    ] {
        let Verb::Facts(facts) = parse(line).unwrap().verb else {
            panic!("{line} asks for something else");
        };
        assert_eq!(facts.call().to_string(), expected);
    }
    assert!(parse("facts drop").is_err());
}

#[test]
fn a_replica_that_is_gone_is_forgotten_by_name() {
    let Verb::ForgetReplica(gone) = parse("forget-replica 00ff12ab").unwrap().verb else {
        panic!("another verb");
    };
    assert_eq!(gone.call().to_string(), "DELETE /v1/replicas/00ff12ab {}");
    for line in [
        "forget-replica",
        "forget-replica ..",
        "forget-replica a/b",
        "replicas a",
    ] {
        assert_eq!(parse(line).expect_err(line).exit_code(), 2);
    }
}

#[test]
fn replicas_are_told_with_their_clocks_and_what_is_wrong() {
    let view = json!({
        "asked": "00aa", "now": 100,
        "problems": [{ "what": "the configuration is not that of 00bb", "unready": false }],
        "replicas": [
            {
                "name": "00aa", "state": "alive", "revision": 42, "at": 96, "signing": "2026-11",
                "admin": "http://10.0.1.1:9090",
            },
            { "name": "00bb", "state": "silent", "revision": 41, "at": 103, "signing": "2026-08" },
            { "name": "00cc", "state": "unreadable" },
        ],
    });
    assert_eq!(
        replicas::table(&serde_json::from_value(view).unwrap()),
        "\
REPLICA  STATE       REVISION  KEY      CLOCK     ADMIN                 NOTES
00aa     alive       42        2026-11  4s ago    http://10.0.1.1:9090  asked
00bb     silent      41        2026-08  3s ahead  -
00cc     unreadable  -         -        -         -
00aa: the configuration is not that of 00bb"
    );
}

#[test]
fn each_fact_is_told_with_what_to_do() {
    let Verb::Facts(look) = parse("facts").unwrap().verb else {
        panic!("another verb");
    };
    let told = |facts: Value| {
        let view = serde_json::from_value(json!({ "facts": facts })).unwrap();
        look.told(&view)
    };
    let fact = |group: &str, kind: &str| {
        json!({
            "group": group, "generation": 1, "target": "9f1c2ab", "policy": "move", "at": 0,
            "base_revision": 42, "kind": kind,
        })
    };
    let mut stays = fact("0ddba11", "pending");
    stays["policy"] = json!("stay");
    stays["until"] = json!(600);
    assert_eq!(
        told(json!([fact("c3d4e5f", "conflict"), stays])),
        "\
GROUP    TARGET   POLICY                           SINCE                 KIND      WHAT TO DO
c3d4e5f  9f1c2ab  move                             1970-01-01T00:00:00Z  conflict  \
confirm: rollout abort c3d4e5f; or: rollout facts drop c3d4e5f
0ddba11  9f1c2ab  stay until 1970-01-01T00:10:00Z  1970-01-01T00:00:00Z  pending   \
nothing: the shared state takes it up once it is in reach"
    );
    assert!(told(json!([])).starts_with("no facts"));
}

#[test]
fn a_change_that_one_replica_holds_ends_with_5_and_says_why() {
    let ended = |answer: Value| {
        let held: Held = serde_json::from_value(answer).unwrap();
        held.conclude()
    };
    assert!(ended(json!({ "held": "all" })).is_ok());
    for (why, advice) in [
        ("out-of-reach", "--admin URL for each replica"),
        ("not-kept", "a restart of it would forget"),
    ] {
        let failure = ended(json!({ "held": "replica", "why": why })).unwrap_err();
        assert_eq!(
            (failure.exit, failure.problem.kind.as_str()),
            (Exit::HereOnly, why)
        );
        assert!(failure.advice.unwrap().contains(advice));
    }
}

fn side(state: &str, weight: u64, is_stable: bool) -> Value {
    json!({ "generation": 1, "state": state, "weight": weight, "share": 0.5, "stable": is_stable })
}

#[test]
fn a_preview_has_a_row_for_each_group_and_a_line_for_each_consequence() {
    let abort = json!({
        "preview": true, "verb": "abort", "revision": 41, "changed": true, "at": 0, "locked": false,
        "redrawn": [], "groups": [
            {
                "name": "9f1c2ab", "before": side("active", 90, true),
                "after": side("active", 100, true), "live_sessions": 812, "in_flight": 24,
                "max_in_flight": 512, "free": 488, "last_expiry": null, "drained_by": null,
                "leaving": null,
            },
            {
                "name": "c3d4e5f", "before": side("active", 10, false),
                "after": side("aborted", 0, false), "live_sessions": 97, "in_flight": 3,
                "max_in_flight": null, "free": null, "last_expiry": 3_600, "drained_by": null,
                "leaving": { "how": "move", "to": ["9f1c2ab"], "by": 1_800, "cut_by": 30 },
            },
        ],
    });
    assert_eq!(
        preview::told(&serde_json::from_value(abort).unwrap()),
        "\
preview of abort at revision 41: nothing is changed
GROUP    STATE              WEIGHT     SHARE        SESSIONS  IN-FLIGHT  NOTES
9f1c2ab  active             90 -> 100  90% -> 100%  ≈812      24         stable
c3d4e5f  active -> aborted  10 -> 0    10% -> -     ≈97       3
move  ≈97 sessions of c3d4e5f to 9f1c2ab, each with its next request, all by 1970-01-01T00:30:00Z
late  pins of streams to c3d4e5f, or from before a start, live to 1970-01-01T01:00:00Z
cuts  3 in flight of c3d4e5f, ended by 1970-01-01T00:00:30Z
room  9f1c2ab can take 488 more requests at a time (24 of 512 in flight)
to do it, repeat it without --preview"
    );
}

#[test]
fn a_preview_of_a_promotion_names_what_drains_and_the_revision_to_expect() {
    let group = |name: &str, before: Value, after: Value, drained_by: Option<u64>| {
        json!({
            "name": name, "before": before, "after": after, "live_sessions": 5, "in_flight": 0,
            "max_in_flight": null, "free": null, "last_expiry": null, "drained_by": drained_by,
            "leaving": null,
        })
    };
    let promote = json!({
        "preview": true, "verb": "promote", "revision": 41, "changed": true, "at": 0,
        "locked": false, "redrawn": ["/shop/*"], "groups": [
            group("9f1c2ab", side("active", 1, true), side("draining", 0, false), Some(14_400)),
            group("c3d4e5f", Value::Null, side("active", 1, true), None),
        ],
    });
    assert_eq!(
        preview::told(&serde_json::from_value(promote).unwrap()),
        "\
preview of promote at revision 41: nothing is changed
GROUP    STATE               WEIGHT  SHARE      SESSIONS  IN-FLIGHT  NOTES
9f1c2ab  active -> draining  1 -> 0  100% -> -  ≈5        0          stable no more
c3d4e5f  - -> active         - -> 1  - -> 100%  ≈5        0          becomes stable
drains  9f1c2ab: ≈5 sessions stay, the last one until 1970-01-01T04:00:00Z
draws   each session in scope /shop/* anew, once
to do it, repeat it without --preview and with --if-match 41"
    );
}
