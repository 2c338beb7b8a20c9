//! Finds the endpoints of groups whose block does not list them, for as long as the gateway runs.
//!
//! `dns` (with `families`) and `file` are the sources, `list` says which answers are right, `follow` puts them in
//! force. Nothing that a source says empties a group: what is empty, wrong or late leaves the last
//! good list where it is, and shows in the metrics.

mod dns;
mod families;
mod file;
mod follow;
mod list;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::SocketAddr;

use tokio_util::task::AbortOnDropHandle;
use tower_affinity::core::GroupName;

use self::follow::{Feed, One};
use crate::config::{Discovery, Settings};
use crate::control::Control;
use crate::metrics::DiscoverySeries;

/// The sources that are followed, until it is dropped.
#[derive(Debug)]
pub(crate) struct Feeds {
    control: Control,
    series: DiscoverySeries,
    own: [SocketAddr; 2],
    followed: HashMap<GroupName, Followed>,
}

#[derive(Debug)]
struct Followed {
    source: Discovery,
    servers: Vec<SocketAddr>,
    _task: AbortOnDropHandle<()>,
}

impl Feeds {
    /// Follows nothing yet. `own` are the gateway's own addresses, which are no endpoints.
    pub(crate) fn new(control: Control, series: DiscoverySeries, own: [SocketAddr; 2]) -> Self {
        Self {
            control,
            series,
            own,
            followed: HashMap::new(),
        }
    }

    /// Follows the sources of the settings, which are in force already. What is the same goes on.
    pub(crate) fn follow(&mut self, settings: &Settings) {
        let servers = &settings.upstream.dns_servers;
        let groups = settings.groups.iter();
        let mut wanted: HashMap<&GroupName, &Discovery> = groups
            .filter_map(|group| Some((&group.name, group.discovery.as_ref()?)))
            .collect();
        let sources = self.control.sources();
        self.followed.retain(|group, followed| {
            let source = wanted.get(group).copied();
            let same_servers = match &followed.source {
                Discovery::Dns(_) => followed.servers == *servers,
                Discovery::File(_) => true,
            };
            let stays = source == Some(&followed.source) && same_servers;
            if stays {
                wanted.remove(group);
            } else {
                sources.end(group);
            }
            stays
        });
        for (group, source) in wanted {
            sources.begin(group, source, self.control.now());
            let one = One {
                control: self.control.clone(),
                series: self.series.clone(),
                group: group.clone(),
                source: source.clone(),
                own: self.own,
            };
            let feed = Feed::new(source, servers);
            let followed = Followed {
                source: source.clone(),
                servers: servers.clone(),
                _task: AbortOnDropHandle::new(tokio::spawn(one.follow(feed))),
            };
            self.followed.insert(group.clone(), followed);
        }
    }
}
