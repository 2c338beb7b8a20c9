//! The script: a rollout, a promotion, an abort.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower_affinity::core::{AbortRequest, AlwaysReady, Weight};

use super::BoxError;
use super::deployment::{Deployment, NEW, OLD, name};
use super::tally::Tally;
use super::walk::{Site, walk};

const CLIENTS: u64 = 200;

/// The most requests that are under way at once.
const MOST_REQUESTS: usize = 32;

/// How often it is looked whether the processes have found each other, and for how long.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS: u32 = 100;

/// An idle connection is closed before the process at its other end does that.
const IDLE: Duration = Duration::from_secs(5);

/// How long each act lasts.
const ACT: Duration = Duration::from_secs(4);

/// Shows a rollout and an abort, and tells what the clients met: in words, or with `json` as one line.
/// `false` if a session broke in the rollout or moved more than once.
///
/// # Errors
///
/// If the processes cannot be started or the files not be written.
pub async fn demo(json: bool) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    let say = |line: &str| match json {
        true => Ok(()),
        false => writeln!(std::io::stdout(), "{line}"),
    };
    let mut deployment = Deployment::start().await?;
    say(&format!(
        "three processes, two of {OLD} and one of {NEW}; a balancer picks any of them"
    ))?;
    let processes = deployment.processes().iter();
    let site = Arc::new(Site {
        client: Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build_http(),
        processes: processes.map(|p| (p.address, p.commit)).collect(),
        room: Semaphore::new(MOST_REQUESTS),
        tally: Tally::default(),
    });
    settle(&site).await?;
    let (over, told) = watch::channel(false);
    let mut clients = JoinSet::new();
    for nth in 0..CLIENTS {
        clients.spawn(walk(Arc::clone(&site), told.clone(), nth));
    }
    say(&format!(
        "{NEW} is staged: {OLD} serves all {CLIENTS} clients"
    ))?;
    sleep(ACT / 2).await;
    let weights = BTreeMap::from([
        (name(OLD)?, Weight::new(50)?),
        (name(NEW)?, Weight::new(50)?),
    ]);
    deployment.change(|rollout, change| rollout.weights(&weights, change))?;
    say(&format!("{NEW} takes new sessions"))?;
    sleep(ACT).await;
    let new = name(NEW)?;
    deployment.change(|rollout, change| rollout.promote(&new, change))?;
    say(&format!("{NEW} is promoted: {OLD} drains"))?;
    sleep(ACT).await;
    site.tally.abort();
    let request = AbortRequest::default();
    deployment.change(|rollout, change| rollout.abort(&new, &request, &AlwaysReady, change))?;
    say(&format!("{NEW} is aborted: its sessions move to {OLD}"))?;
    sleep(ACT).await;
    over.send_replace(true);
    while let Some(ended) = clients.join_next().await {
        ended?;
    }
    drop(deployment);
    report(&site.tally, json)
}

/// Waits until the process of the staged commit gives new sessions to the others: it knows them then.
async fn settle(site: &Site) -> Result<(), BoxError> {
    for _ in 0..LOOKS {
        if site.starts_at(NEW).await {
            return Ok(());
        }
        sleep(LOOK).await;
    }
    Err("the processes do not find each other".into())
}

fn report(tally: &Tally, json: bool) -> Result<bool, BoxError> {
    let counts = tally.counts();
    let mut out = std::io::stdout();
    if json {
        writeln!(out, "{}", serde_json::to_string(&counts)?)?;
        return Ok(counts.holds());
    }
    writeln!(
        out,
        "{} sessions, {} broken in the rollout and {} after the abort; {} moved by the abort, at most \
         {} move per session, {} began again cleanly; {} requests were forwarded",
        counts.sessions,
        counts.broken_in_rollout,
        counts.broken_after_abort,
        counts.moved,
        counts.max_moves_per_session,
        counts.restarted_after_abort,
        counts.forwarded,
    )?;
    for reason in tally.reasons() {
        writeln!(out, "broken: {reason}")?;
    }
    Ok(counts.holds())
}
