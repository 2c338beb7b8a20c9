//! The script against a stand-in for the gateway: it shows breaks where there is no affinity, and
//! would notice a gateway that keeps sessions apart from what it claims.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::time::Duration;

use super::{
    acts::{Pace, Stage},
    board::Affinity,
    fleet::Fleet,
    flow::A,
    report::{Report, Run},
    screen::Screen,
    show::run,
    standin::StandIn,
};

async fn played(affinity: Affinity, screen: &mut Screen<&mut Vec<u8>>) -> Run {
    let fleet = Fleet::start().await.unwrap();
    let standin = StandIn::start(affinity, A.commit, fleet.endpoints(A.commit)).await;
    let think = Duration::from_millis(5)..Duration::from_millis(20);
    let stage = Stage {
        operator: &standin,
        fleet: &fleet,
        site: standin.site,
        pace: Pace {
            gap: Duration::from_millis(1),
            think,
        },
        seed: 7,
    };
    run(affinity, &stage, screen).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_break_without_affinity_and_none_with_it() {
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, false);
    let off = played(Affinity::Off, &mut screen).await;
    let on = played(Affinity::On, &mut screen).await;
    let report = Report { off, on };
    assert_eq!(report.failures(), Vec::<String>::new(), "{report:#?}");
    let shown = String::from_utf8(out).unwrap();
    for order in [
        "affinity off, operator: weights 9f1c2ab=50 c3d4e5f=50",
        "affinity on, operator: promote c3d4e5f",
        "affinity on, operator: abort 7b20d94",
    ] {
        assert!(shown.contains(order), "{order} is not in\n{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_keeps_no_session_together_is_noticed() {
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, true);
    let off = played(Affinity::Off, &mut screen).await;
    let report = Report {
        on: off.clone(),
        off,
    };
    let failures = report.failures();
    assert!(
        failures
            .iter()
            .any(|failure| failure.ends_with("sessions broke with affinity")),
        "{failures:?}"
    );
}
