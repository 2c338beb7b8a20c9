//! F19: two groups that cannot be told apart.

use affinity_tests::process::run;

use crate::stage::{NEW, OLD, Stage, mixed};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f19_two_groups_of_one_name_or_address_are_refused() {
    let stage = Stage::with_process().await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let mut twins = stage.config.clone();
    twins.group(NEW).name = OLD.to_owned();
    let mut shared = stage.config.clone();
    shared.group(NEW).endpoints[0] = stage.config.groups[0].endpoints[0];
    for (wrong, named) in [
        (&twins, OLD.to_owned()),
        (&shared, shared.groups[0].endpoints[0].to_string()),
    ] {
        let file = stage.dir.write("wrong.toml", wrong.text());
        for verb in ["check", "run"] {
            let words = [verb, "--config", file.to_str().expect("a path is text")];
            let ended = run(&words, &[]).await;
            assert_eq!(ended.code, 2, "{verb}: {}", ended.stderr);
            assert!(
                ended.stderr.contains(&named),
                "{verb} does not name {named}: {}",
                ended.stderr
            );
        }
        // one that already runs keeps what it has
        let before = stage.sum("affinity_config_rejected_total", &[]).await;
        stage.dir.write("gateway.toml", wrong.text());
        affinity_tests::until("the refusal", async || {
            let now = stage.sum("affinity_config_rejected_total", &[]).await;
            (now > before).then_some(())
        })
        .await;
    }
    let shots = running.stop().await;

    let joined = stage.join("F19", &shots);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "a refused file disturbed somebody"
    );
    assert_eq!(
        joined.moved(),
        0,
        "a refused file moved a session: {:?}",
        joined.moves
    );
}
