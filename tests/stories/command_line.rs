//! The verbs of the real binary against a running gateway: what they print, and how they end.

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Ended, run};
use affinity_tests::replica::Replica;
use serde_json::Value;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";
const LATER: &str = "0a1b2c3";

struct Stage {
    fleet: Fleet,
    replica: Replica,
    history: History,
    _dir: Scratch,
}

impl Stage {
    async fn new(old: u16, new: u16) -> Self {
        let fleet = Fleet::start(&[OLD, NEW, LATER], 1).await;
        let dir = Scratch::new();
        let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, old), (NEW, new)])).await;
        Self {
            fleet,
            replica,
            history: History::default(),
            _dir: dir,
        }
    }

    /// Runs `gateway rollout`, with the token in its variable.
    async fn rollout(&self, line: &str) -> Ended {
        self.rollout_with(line, self.replica.admin.token()).await
    }

    async fn rollout_with(&self, line: &str, token: &str) -> Ended {
        let admin = format!("http://{}", self.replica.admin.address());
        let mut args = vec!["rollout", "--admin", &admin];
        args.extend(line.split_whitespace());
        run(&args, &[("AFFINITY_ADMIN_TOKEN", token)]).await
    }

    /// Runs it to a good end; answers what it printed.
    async fn done(&self, line: &str) -> String {
        let ended = self.rollout(line).await;
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (0, ""),
            "{line}: {}",
            ended.stdout
        );
        ended.stdout
    }

    /// Runs it into a refusal; answers what it complained.
    async fn refused(&self, line: &str) -> String {
        let before = self.replica.admin.rollout().await;
        let ended = self.rollout(line).await;
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (4, ""),
            "{line}: {}",
            ended.stderr
        );
        assert_eq!(
            ended.stderr.lines().count(),
            1,
            "one message: {}",
            ended.stderr
        );
        assert_eq!(
            self.replica.admin.rollout().await,
            before,
            "{line} changed something"
        );
        ended.stderr
    }

    async fn state(&self, group: &str) -> String {
        let group = self.replica.admin.group(group).await;
        group["state"]
            .as_str()
            .expect("a group has a state")
            .to_owned()
    }

    async fn get(&self, client: &mut Client) -> String {
        let answer = client.get(self.replica.address(), "/").await;
        answer.group().unwrap_or("nobody").to_owned()
    }
}

#[tokio::test]
async fn show_prints_a_table_and_json() {
    let stage = Stage::new(90, 10).await;
    let table = stage.done("show").await;
    let row = table
        .lines()
        .find(|line| line.starts_with(NEW))
        .expect("a row for each group");
    assert!(
        row.contains("active") && row.contains("10%") && row.contains("1/1"),
        "{table}"
    );
    assert!(!table.contains('\u{1b}'), "colour, and this is no terminal");
    let shown: Value = serde_json::from_str(&stage.done("show --json").await).expect("JSON");
    assert_eq!(shown, stage.replica.admin.rollout().await);
}

#[tokio::test]
async fn weights_register_and_promote_change_the_rollout() {
    let stage = Stage::new(90, 10).await;
    let mut client = Client::new(0, &stage.history);
    let kept = stage.get(&mut client).await;
    let told = stage.done(&format!("weights {OLD}=50 {NEW}=50")).await;
    assert!(told.contains(&format!("{OLD}=50 {NEW}=50")), "{told}");
    let endpoint = stage.fleet.addresses(LATER)[0];
    stage
        .done(&format!("register {LATER} --endpoint {endpoint}"))
        .await;
    assert_eq!(stage.state(LATER).await, "staged");
    let told = stage.done(&format!("promote {LATER} --json")).await;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["rollout"]["stable"], LATER, "{told}");
    assert_eq!(
        (stage.state(OLD).await, stage.state(NEW).await),
        ("draining".into(), "draining".into())
    );
    assert_eq!(
        stage.get(&mut client).await,
        kept,
        "a promotion moved a session"
    );
    let told = stage
        .refused(&format!("register {OLD} --endpoint {endpoint}"))
        .await;
    assert!(told.contains("registered already"), "{told}");
    let told = stage.refused(&format!("weights {LATER}=0")).await;
    assert!(
        told.contains("would be 0") && told.contains("leave one of them a weight"),
        "{told}"
    );
}

#[tokio::test]
async fn drain_says_how_the_stable_group_can_be_drained() {
    let stage = Stage::new(1, 1).await;
    stage.done(&format!("drain {NEW}")).await;
    assert_eq!(stage.state(NEW).await, "draining");
    let told = stage.refused(&format!("drain {OLD}")).await;
    assert!(
        told.contains("stable") && told.contains("promote another one first"),
        "{told}"
    );
}

#[tokio::test]
async fn abort_moves_sessions_and_repeats_itself() {
    let stage = Stage::new(0, 1).await;
    let mut client = Client::new(0, &stage.history);
    assert_eq!(stage.get(&mut client).await, NEW);
    let told = stage.refused(&format!("abort {OLD}")).await;
    assert!(told.contains(NEW), "no possible target is named: {told}");
    let told = stage.done(&format!("abort {NEW} --if-match 1")).await;
    assert!(
        told.contains(&format!("{NEW} is aborted, to {OLD}")),
        "{told}"
    );
    assert_eq!(stage.get(&mut client).await, OLD);
    let told = stage.done(&format!("abort {NEW}")).await;
    assert!(told.contains("nothing to change"), "{told}");
    let told = stage
        .done(&format!("abort {NEW} --policy stay --within 5m"))
        .await;
    assert!(told.contains("stay"), "{told}");
    let told = stage.refused(&format!("abort {LATER}")).await;
    assert!(
        told.contains("no group is named") && told.contains(OLD),
        "{told}"
    );
}

#[tokio::test]
async fn restore_does_not_bring_old_sessions_back() {
    let stage = Stage::new(0, 1).await;
    let mut client = Client::new(0, &stage.history);
    stage.get(&mut client).await;
    let told = stage.refused(&format!("restore {NEW}")).await;
    assert!(told.contains("is active"), "{told}");
    stage.done(&format!("abort {NEW}")).await;
    stage.done(&format!("restore {NEW}")).await;
    stage.done(&format!("weights {NEW}=1")).await;
    assert_eq!(stage.state(NEW).await, "active");
    assert_eq!(
        stage.get(&mut client).await,
        OLD,
        "a pin of the old generation was obeyed"
    );
}

#[tokio::test]
async fn retire_names_force_as_the_way_out() {
    let stage = Stage::new(1, 1).await;
    let told = stage.refused(&format!("retire {NEW} --force")).await;
    assert!(
        told.contains("is active") && !told.contains("--force"),
        "{told}"
    );
    stage.done(&format!("drain {NEW}")).await;
    let told = stage.refused(&format!("retire {NEW}")).await;
    assert!(
        told.contains("not drained before") && told.contains("--force"),
        "{told}"
    );
    stage.done(&format!("retire {NEW} --force")).await;
    assert_eq!(stage.state(NEW).await, "retired");
}

#[tokio::test]
async fn a_stale_revision_ends_with_4_and_the_present_one() {
    let stage = Stage::new(1, 1).await;
    let seen = stage.replica.admin.rollout().await["revision"].clone();
    stage
        .done(&format!("weights {NEW}=2 --if-match {seen}"))
        .await;
    let told = stage
        .refused(&format!("weights {NEW}=3 --if-match {seen}"))
        .await;
    let now = stage.replica.admin.rollout().await["revision"].clone();
    assert!(told.contains(&now.to_string()), "{told}");
    let ended = stage
        .rollout(&format!("weights {NEW}=3 --json --if-match {seen}"))
        .await;
    let told: Value = serde_json::from_str(&ended.stderr).expect("errors are JSON as well");
    assert_eq!(
        (ended.code, &told["error"]["status"]),
        (4, &412.into()),
        "{told}"
    );
}

#[tokio::test]
async fn a_change_without_the_token_ends_with_1_and_says_where_it_is() {
    let stage = Stage::new(1, 1).await;
    let line = format!("drain {NEW}");
    let admin = format!("http://{}", stage.replica.admin.address());
    let missing = run(&["rollout", "drain", NEW, "--admin", &admin], &[]).await;
    let wrong = stage.rollout_with(&line, &"w".repeat(43)).await;
    for ended in [missing, wrong] {
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (1, ""),
            "{}",
            ended.stderr
        );
        assert!(ended.stderr.contains("token"), "{}", ended.stderr);
    }
    assert_eq!(stage.state(NEW).await, "active");
    let shown = run(&["rollout", "show", "--admin", &admin], &[]).await;
    assert_eq!(
        shown.code, 0,
        "reading on loopback needs no token: {}",
        shown.stderr
    );
}

#[tokio::test]
async fn bad_usage_ends_with_2_and_a_dead_admin_side_with_1() {
    for line in [
        "rollout",
        "rollout weights a=x",
        "rollout drain",
        "no-such-verb",
        "run",
        "check",
    ] {
        let ended = run(&line.split(' ').collect::<Vec<_>>(), &[]).await;
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (2, ""),
            "{line}: {}",
            ended.stderr
        );
    }
    let ended = run(&["rollout", "show", "--admin", "http://127.0.0.1:1"], &[]).await;
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("127.0.0.1:1"), "{}", ended.stderr);
}

#[tokio::test]
async fn inspect_reads_a_pin_of_a_running_gateway() {
    let stage = Stage::new(0, 1).await;
    let mut client = Client::new(0, &stage.history);
    stage.get(&mut client).await;
    let pin = client.jar.value(COOKIE).expect("it has a pin").to_owned();
    let admin = format!("http://{}", stage.replica.admin.address());
    let token = [("AFFINITY_ADMIN_TOKEN", stage.replica.admin.token())];
    let ended = run(&["pin", "inspect", &pin, "--admin", &admin], &token).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains(NEW), "{}", ended.stdout);
}

#[tokio::test]
async fn mint_prints_a_token_that_chooses_the_group() {
    let stage = Stage::new(1, 0).await;
    let admin = format!("http://{}", stage.replica.admin.address());
    let mint = async |line: &str| {
        let mut args = vec!["pin", "mint", "--admin", &admin];
        args.extend(line.split_whitespace());
        let token = stage.replica.admin.token();
        run(&args, &[("AFFINITY_ADMIN_TOKEN", token)]).await
    };
    for (line, field) in [
        (
            format!("--group {NEW} --override --ttl 1h"),
            "affinity-override",
        ),
        (format!("--group {NEW}"), "affinity-pin"),
    ] {
        let minted = mint(&line).await;
        assert_eq!(
            (minted.code, minted.stdout.lines().count()),
            (0, 1),
            "{minted:?}"
        );
        let request = http::Request::get("/").header(field, minted.stdout.trim());
        let request = request.body(http_body_util::Full::default()).unwrap();
        let mut client = Client::new(0, &stage.history);
        let answer = client.send(stage.replica.address(), request).await;
        assert_eq!(answer.group(), Some(NEW), "{line}");
    }
    let told = mint(&format!("--group {NEW} --override --ttl 1h --json")).await;
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(told["group"], NEW, "{told}");
    for (line, code, why) in [
        (format!("--group {NEW} --override"), 2, "--ttl"),
        (format!("--group {NEW} --sticky"), 2, "--override"),
        (format!("--group {NEW} --override --ttl 25h"), 2, "24h"),
        (format!("--group {LATER}"), 1, "no group is named"),
    ] {
        let ended = mint(&line).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{line}");
        assert!(ended.stderr.contains(why), "{line}: {}", ended.stderr);
    }
}

#[tokio::test]
async fn a_locked_rollout_takes_only_an_abort_until_it_is_unlocked() {
    let stage = Stage::new(90, 10).await;
    assert!(stage.done("lock").await.contains("locked"));
    for line in [
        format!("drain {NEW}"),
        format!("weights {NEW}=20"),
        format!("promote {NEW}"),
        format!("retire {NEW} --force"),
        format!("register {LATER} --endpoint 127.0.0.1:1"),
    ] {
        let why = stage.refused(&line).await;
        assert!(why.contains("unlock it first"), "{line}: {why}");
    }
    assert!(stage.done("show").await.contains("locked"));
    stage.done(&format!("abort {NEW}")).await;
    assert_eq!(stage.state(NEW).await, "aborted");
    stage.done("unlock").await;
    stage.done(&format!("restore {NEW}")).await;
    assert!(!stage.done("show").await.contains("locked"));
}
