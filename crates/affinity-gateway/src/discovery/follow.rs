//! Follows one source: each answer is taken, or refused and told of.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tower_affinity::core::GroupName;

use super::dns::Dns;
use super::file::File;
use super::list::{Found, Trouble, usable};
use crate::causes::with_causes;
use crate::config::Discovery;
use crate::control::{Control, Failure};
use crate::metrics::DiscoverySeries;

/// How soon an address is claimed again that another group had.
const AGAIN: Duration = Duration::from_secs(1);

/// Where answers come from.
#[derive(Debug)]
pub(super) enum Feed {
    Dns(Box<Dns>),
    File(File),
}

impl Feed {
    pub(super) fn new(source: &Discovery, servers: &[SocketAddr]) -> Self {
        match source {
            Discovery::Dns(name) => Self::Dns(Box::new(Dns::new(name, servers))),
            Discovery::File(path) => Self::File(File::new(path)),
        }
    }

    pub(super) async fn find(&mut self) -> Found {
        match self {
            Self::Dns(dns) => dns.find().await,
            Self::File(file) => file.find().await,
        }
    }

    async fn rest(&mut self) {
        match self {
            Self::Dns(dns) => dns.rest().await,
            Self::File(file) => file.rest().await,
        }
    }
}

/// The source of one group.
pub(super) struct One {
    pub(super) control: Control,
    pub(super) series: DiscoverySeries,
    pub(super) group: GroupName,
    pub(super) source: Discovery,
    /// The gateway's own addresses.
    pub(super) own: [SocketAddr; 2],
}

impl One {
    pub(super) async fn follow(self, mut feed: Feed) {
        loop {
            let found = feed.find().await;
            match self.take(found).await {
                Some(Failure::Taken) => tokio::select! {
                    () = feed.rest() => {}
                    () = sleep(AGAIN) => {}
                },
                _ => feed.rest().await,
            }
        }
    }

    /// Puts an answer in force; says what was wrong with it.
    pub(super) async fn take(&self, found: Found) -> Option<Failure> {
        let trouble = match (usable(found.endpoints, &self.own), found.trouble) {
            (Ok(endpoints), trouble) => self.apply(endpoints).await.or(trouble),
            (Err(_), Some(trouble)) => Some(trouble),
            (Err(trouble), None) => Some(trouble),
        };
        let (group, source) = (&self.group, &self.source);
        let failure = trouble.as_ref().map(|trouble| trouble.failure);
        let sources = self.control.sources();
        let is_news = sources.note(group, failure, self.control.now());
        match trouble {
            Some(Trouble { failure, why }) => {
                self.series.count(group, failure);
                if is_news {
                    let kind = failure.as_str();
                    tracing::warn!(%group, %source, kind, why, "endpoints held back");
                }
            }
            None if is_news => tracing::info!(%group, %source, "endpoints follow their source"),
            None => {}
        }
        failure
    }

    async fn apply(&self, endpoints: Vec<SocketAddr>) -> Option<Trouble> {
        let (control, group) = (self.control.clone(), self.group.clone());
        let source = self.source.clone();
        let applied = spawn_blocking(move || control.discovered(&group, &source, &endpoints));
        match applied.await {
            Ok(Ok(taken)) => taken.first().map(|taken| {
                let (address, by) = (taken.address, &taken.by);
                let why = format!("{address} is an endpoint of group {by}");
                Trouble::new(Failure::Taken, why)
            }),
            Ok(Err(error)) => {
                let error = with_causes(&error);
                tracing::error!(error, "endpoints are in force and not kept over a restart");
                None
            }
            // only while the runtime ends
            Err(error) => Some(Trouble::new(Failure::Error, error.to_string())),
        }
    }
}
