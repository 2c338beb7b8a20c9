//! `gateway simulate`: what the real binary prints for a plan, and how it ends.

use std::path::PathBuf;

use affinity_tests::Scratch;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::process::{Ended, run};
use serde_json::Value;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// The plan that the documentation shows.
const EXAMPLE: &str = include_str!("../../examples/gateway/plans/canary.toml");
const PAGE: &str = include_str!("../../docs/plans.md");

/// A plan that is played in no time.
const SMALL: &str = r#"
[traffic]
arrivals_per_second = 1
length = { distribution = "exponential", mean = "5m" }
think  = { distribution = "exponential", mean = "10s" }
[capacity]
requests_per_second = 10
endpoints = { "9f1c2ab" = 4 }
[[step]]
weights = { "9f1c2ab" = 50, "c3d4e5f" = 50 }
hold    = "10m"
gate    = "analysis"
[[step]]
promote = "c3d4e5f"
until   = "drained"
"#;

/// What is printed for it.
const PRINTED: &str = include_str!("simulate.txt");

struct Stage {
    dir: Scratch,
    config: PathBuf,
}

impl Stage {
    async fn new() -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 1).await;
        let dir = Scratch::new();
        let config = Config::new(&fleet, &[(OLD, 1), (NEW, 0)]).write(&dir, "gateway.toml");
        Self { dir, config }
    }

    async fn simulate(&self, plan: &str, more: &[&str]) -> Ended {
        let plan = self.dir.write("plan.toml", plan);
        let mut args = vec!["simulate", "--config", self.config.to_str().unwrap()];
        args.extend(["--plan", plan.to_str().unwrap()]);
        args.extend(more);
        run(&args, &[]).await
    }
}

#[tokio::test]
async fn a_plan_is_played_to_the_same_tables_for_ever() {
    let ended = Stage::new().await.simulate(SMALL, &[]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert_eq!(ended.stdout, PRINTED, "{}", ended.stdout);
}

#[tokio::test]
async fn the_report_and_the_picture_are_those_of_the_seed() {
    let stage = Stage::new().await;
    let svg = stage.dir.path().join("plan.svg");
    let more = ["--json", "--seed", "7", "--svg", svg.to_str().unwrap()];
    let mut seen = Vec::new();
    for _ in 0..2 {
        let ended = stage.simulate(SMALL, &more).await;
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        seen.push((ended.stdout, std::fs::read_to_string(&svg).unwrap()));
    }
    assert_eq!(seen[0], seen[1]);
    let report: Value = serde_json::from_str(&seen[0].0).unwrap();
    let step = &report["steps"][1];
    assert_eq!(
        (&report["seed"], &step["gate_taken_as_passed"]),
        (&7.into(), &"analysis".into())
    );
    let new = &step["groups"][1];
    assert_eq!(new["abort"]["moves"], new["pinned"], "{new}");
    let svg = &seen[0].1;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.matches("<polyline ").count() == 2 && svg.contains(NEW));
}

#[tokio::test]
async fn a_gate_is_asked_in_the_simulation_and_its_plan_is_checked() {
    let stage = Stage::new().await;
    let failures = format!("[failures]\nsessions = {{ \"{NEW}\" = 0.5 }}\n");
    let (traffic, steps) = SMALL.split_at(SMALL.find("[[step]]").unwrap());
    let plan = format!(
        "{traffic}{failures}{}",
        steps.replace("analysis", "no_worse")
    );
    let ended = stage.simulate(&plan, &["--json"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["steps"][1]["gate"]["verdict"], "worse", "{report}");
    assert_eq!(report["stopped"], 1, "nothing comes after it");
    let ended = stage.simulate(&plan, &[]).await;
    assert!(
        ended.stdout.contains("the plan ended with step 1"),
        "{}",
        ended.stdout
    );

    let short = stage.dir.write("short.toml", plan.replace("10m", "1m"));
    let (config, short) = (stage.config.to_str().unwrap(), short.to_str().unwrap());
    let checked = run(&["check", "--config", config, "--plan", short], &[]).await;
    assert_eq!(checked.code, 0, "{checked:?}");
    let warned = checked
        .stderr
        .contains("beware: step 1: hold (1m) is shorter");
    assert!(warned, "{checked:?}");
}

#[tokio::test]
async fn the_plan_of_the_documentation_is_the_example_and_can_be_played() {
    let (_, shown) = PAGE.split_once("```toml\n").expect("the page shows a plan");
    let (shown, _) = shown.split_once("```").unwrap();
    assert!(EXAMPLE.ends_with(shown), "docs/plans.md shows another plan");
    let few = EXAMPLE.replace("arrivals_per_second = 5", "arrivals_per_second = 0.2");
    let ended = Stage::new().await.simulate(&few, &[]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.contains("promote c3d4e5f"), "{}", ended.stdout);
}

#[tokio::test]
async fn a_wrong_plan_ends_with_2_and_a_forbidden_step_with_4() {
    let stage = Stage::new().await;
    let wrong = SMALL.replace("gate ", "gaet ");
    let ended = stage.simulate(&wrong, &[]).await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (2, ""),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("plan.toml:") && ended.stderr.contains("step[0].gaet"),
        "{}",
        ended.stderr
    );
    let ended = run(
        &[
            "simulate",
            "--config",
            stage.config.to_str().unwrap(),
            "--plan",
            "/none",
        ],
        &[],
    )
    .await;
    assert!(
        ended.code == 2 && ended.stderr.contains("--plan"),
        "{}",
        ended.stderr
    );

    let forbidden = SMALL.replace("promote = \"c3d4e5f\"", "drain = \"9f1c2ab\"");
    let ended = stage.simulate(&forbidden, &[]).await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (4, ""),
        "{}",
        ended.stderr
    );
    assert_eq!(
        ended.stderr,
        "gateway: step 2 (drain 9f1c2ab): 9f1c2ab is the stable group; promote another one first\n"
    );
    let ended = stage.simulate(&forbidden, &["--json"]).await;
    let error: Value = serde_json::from_str(&ended.stderr).expect("errors are JSON as well");
    assert_eq!(
        (ended.code, &error["error"]["step"]),
        (4, &2.into()),
        "{error}"
    );
}
