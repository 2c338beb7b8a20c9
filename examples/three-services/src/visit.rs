//! Many visitors at a time, and a promote in the middle.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

use crate::client::Client;
use crate::service::Seen;
use crate::shop::Shop;
use crate::visitor::Visitor;

/// How many visitors ask at a time.
const AT_A_TIME: usize = 8;

/// What each visitor has met, visit by visit.
pub type Visits = Vec<Vec<Vec<Seen>>>;

type Failure = Box<dyn Error + Send + Sync>;

/// Has `visitors` visit the shop so many times each. Whoever makes the visit in the middle promotes
/// the new commit of every service, while the others go on.
///
/// # Errors
///
/// If a visit has brought no answer, or the promote was refused.
pub async fn visits(shop: &Arc<Shop>, visitors: usize, each: usize) -> Result<Visits, Failure> {
    let client = Client::outside(shop.web().address());
    let (middle, made) = (visitors * each / 2, Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    for at_first in 0..AT_A_TIME {
        let (shop, made, client) = (Arc::clone(shop), Arc::clone(&made), client.clone());
        tasks.spawn(async move {
            let numbers = (at_first..visitors).step_by(AT_A_TIME);
            let mut mine: Vec<_> = numbers
                .map(|number| (number, Visitor::new(client.clone()), Vec::new()))
                .collect();
            for _ in 0..each {
                for (_, visitor, met) in &mut mine {
                    met.push(visitor.visit().await?);
                    if made.fetch_add(1, Ordering::Relaxed) + 1 == middle {
                        shop.promote()?;
                    }
                }
            }
            let met = mine.into_iter().map(|(number, _, met)| (number, met));
            Ok::<Vec<_>, Failure>(met.collect())
        });
    }
    let mut all = Vec::with_capacity(visitors);
    while let Some(task) = tasks.join_next().await {
        all.extend(task??);
    }
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, met)| met).collect())
}
