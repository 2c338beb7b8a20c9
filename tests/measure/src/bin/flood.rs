//! Ten million requests of clients that return nothing, in stored mode: no row, and no memory.
//!
//! `cargo run --release -p affinity-measure --bin flood`
#![expect(clippy::print_stdout, reason = "it tells what it measured")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::{Layer, Service, service_fn};
use tower_affinity::core::{Clock, MemoryStore, NewGroup, Revision, Rollout, Weight};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{AffinityLayer, Keyring, Rollouts, SystemClock};

const REQUESTS: u32 = 10_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemoryStore::new(1_000_000));
    let groups = ["9f1c2ab", "c3d4e5f"].into_iter().zip([true, false]);
    let groups = groups.map(|(name, stable)| {
        let group = NewGroup::active(name.parse()?, Weight::new(1)?);
        Ok::<_, Box<dyn Error>>(if stable { group.stable() } else { group })
    });
    let groups: Vec<NewGroup> = groups.collect::<Result<_, _>>()?;
    let rollout = Rollout::new(Revision(1), SystemClock::new().now(), groups)?;
    let scope = Scope::new(PathPattern::all()).assign(AssignBy::LeastLoaded);
    let layer = AffinityLayer::builder()
        .keyring(Keyring::parse(&format!("k1:{}", "ab".repeat(32)))?)
        .service("flood")
        .rollout(Rollouts::fixed(rollout))
        .store(Arc::clone(&store))
        .scope(scope)
        .build()?;
    let hello = service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let mut service = layer.layer(hello);
    let mut ask = move || {
        let mut cx = Context::from_waker(Waker::noop());
        match pin!(service.call(Request::new(()))).poll(&mut cx) {
            Poll::Ready(Ok(response)) => assert_eq!(response.status(), 200),
            Poll::Pending => unreachable!("nothing in it waits"),
        }
    };
    // what is made once is not the flood's
    (0..10_000).for_each(|_| ask());
    let (before, begun) = (resident()?, Instant::now());
    (0..REQUESTS).for_each(|_| ask());
    let more = resident()?.saturating_sub(before);
    println!(
        "{REQUESTS} requests in {:.1?}: {} rows, {more} KiB more resident memory",
        begun.elapsed(),
        store.rows(),
    );
    if store.rows() > 0 || more > 16 * 1024 {
        return Err("a flood of clients that return nothing leaves something behind".into());
    }
    Ok(())
}

/// The resident memory of this process, in KiB.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmRSS in /proc/self/status")?.parse()?)
}
