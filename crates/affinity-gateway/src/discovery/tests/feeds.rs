//! Facts about what is followed.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::super::Feeds;
use super::{Stage, list, own, settings_of};

const GROUPS: &str = "[[group]]\nname = \"aaa\"\nweight = 1\nendpoints_file = \"aaa\"\n";

async fn until_found(stage: &Stage, endpoints: Vec<SocketAddr>) {
    let found = async {
        while stage.endpoints("aaa") != endpoints {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = timeout(Duration::from_secs(30), found).await;
    in_time.unwrap_or_else(|_| panic!("{endpoints:?} never came: {:?}", stage.endpoints("aaa")));
}

#[tokio::test]
async fn an_edit_changes_what_is_followed() {
    let stage = Stage::with(GROUPS);
    let series = stage.metrics.discovery().clone();
    let mut feeds = Feeds::new(stage.control.clone(), series, own());
    fs::write(stage.file("aaa"), "10.0.0.1:80\n").unwrap();
    feeds.follow(&stage.settings);
    until_found(&stage, list(&["10.0.0.1:80"])).await;
    fs::write(stage.file("aaa"), "10.0.0.2:80\n").unwrap();
    until_found(&stage, list(&["10.0.0.2:80"])).await;

    fs::write(stage.file("other"), "10.0.0.3:80\n").unwrap();
    let text = GROUPS.replace("file = \"aaa\"", "file = \"other\"");
    let other = settings_of(&text, &stage.dir);
    stage.control.apply(&other).unwrap();
    assert_eq!(
        stage.endpoints("aaa"),
        list(&["10.0.0.2:80"]),
        "kept so far"
    );
    feeds.follow(&other);
    until_found(&stage, list(&["10.0.0.3:80"])).await;

    let text = GROUPS.replace("endpoints_file = \"aaa\"", "endpoints = [\"10.0.0.4:80\"]");
    let listed = settings_of(&text, &stage.dir);
    stage.control.apply(&listed).unwrap();
    // one who was asked before the edit, and answers after it
    let group = "aaa".parse().unwrap();
    let late = other.groups[0].discovery.as_ref().unwrap();
    let ignored = stage
        .control
        .discovered(&group, late, &list(&["10.0.0.5:80"]));
    assert_eq!(ignored.unwrap(), []);
    feeds.follow(&listed);
    assert!(
        stage.control.sources().of(&group).is_none(),
        "still followed"
    );
    assert_eq!(stage.endpoints("aaa"), list(&["10.0.0.4:80"]));
}
