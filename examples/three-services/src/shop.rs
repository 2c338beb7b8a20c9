//! The three services, each with two commits.

use std::error::Error;
use std::time::Duration;

use tower_affinity::core::{Change, Clock, NewGroup, Revision, Rollout, Weight};
use tower_affinity::{Keyring, Rollouts, SystemClock};

use crate::service::Service;

/// The commit that serves everybody before the rollout.
pub const OLD: &str = "9f1c2ab";
/// The one that is rolled out.
pub const NEW: &str = "c3d4e5f";

/// How old a session may get: the default of the layer.
const MAX_AGE: Duration = Duration::from_secs(4 * 60 * 60);

/// `web`, which calls `cart`, which calls `price`.
#[derive(Debug)]
pub struct Shop {
    services: [Service; 3],
    clock: SystemClock,
}

impl Shop {
    /// Starts all services, each with one half of the sessions on either commit.
    ///
    /// # Errors
    ///
    /// If one cannot be built or served.
    pub async fn open() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let clock = SystemClock::new();
        let halves = || half_each(&clock);
        let keys = Keyring::ephemeral()?;
        let web = || ("web", keys.clone());
        let price = Service::further("price", halves()?, None, web()).await?;
        let cart = Service::further("cart", halves()?, Some(&price), web()).await?;
        let web = Service::first("web", halves()?, Some(&cart), keys.clone()).await?;
        Ok(Self {
            services: [web, cart, price],
            clock,
        })
    }

    /// The service that visitors ask.
    #[must_use]
    pub fn web(&self) -> &Service {
        let [web, ..] = &self.services;
        web
    }

    /// Promotes the new commit of every service: all new sessions are its own.
    ///
    /// # Errors
    ///
    /// If a rule refuses that.
    pub fn promote(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let new = NEW.parse()?;
        for service in &self.services {
            service.rollouts().update(|rollout| {
                let change = Change {
                    revision: rollout.revision().next(),
                    now: self.clock.now(),
                    max_age: MAX_AGE,
                };
                rollout.promote(&new, change)
            })?;
        }
        Ok(())
    }
}

fn half_each(clock: &SystemClock) -> Result<Rollouts, Box<dyn Error + Send + Sync>> {
    let now = clock.now();
    let half = Weight::new(50)?;
    let groups = [
        NewGroup::active(OLD.parse()?, half).stable(),
        NewGroup::active(NEW.parse()?, half),
    ];
    let rollout = Rollout::new(Revision(now.as_secs()), now, groups)?;
    Ok(rollout.into())
}
