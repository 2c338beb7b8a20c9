//! The real gateway in the demo's process.

use std::{io, net::SocketAddr, path::PathBuf};

use affinity_gateway::{
    Control, Gateway as Server, StartError,
    config::ConfigError,
    control::{Request, Verb},
};
use thiserror::Error;
use tower_affinity::core::{GroupName, Weight};

use crate::key;

use super::{
    board::Affinity,
    fleet::Fleet,
    gateway::{Gateway, Places},
    operator::{Operator, Order, Refused, Weights},
    scratch::Scratch,
    settings::{TOKEN_FILE, settings},
};

/// A gateway with its files in a directory of its own.
#[derive(Debug)]
pub(crate) struct Live {
    server: Server,
    control: Control,
    // After the server, so that it is dropped after it.
    scratch: Scratch,
}

/// Why a gateway of the demo did not start.
#[derive(Debug, Error)]
pub(crate) enum OpenError {
    #[error("there is no directory for its files")]
    Directory(#[from] io::Error),
    #[error("there is no randomness for its key")]
    Key(#[from] getrandom::Error),
    #[error("its settings are refused")]
    Settings(#[from] ConfigError),
    #[error("it cannot start")]
    Start(#[from] StartError),
}

impl Gateway for Live {
    type Error = OpenError;

    async fn open(affinity: Affinity, fleet: &Fleet, places: Places) -> Result<Self, OpenError> {
        let scratch = Scratch::new()?;
        let settings = settings(affinity, fleet, places, &key::fresh()?, scratch.path())?;
        let server = Server::start(settings).await?;
        let control = server.control();
        Ok(Self {
            server,
            control,
            scratch,
        })
    }

    fn places(&self) -> Places {
        Places {
            site: self.server.address(),
            admin: self.server.admin(),
        }
    }

    fn token_file(&self) -> PathBuf {
        self.scratch.path().join(TOKEN_FILE)
    }

    async fn close(self) {
        // What had to be cut is nobody's any more: the demo's clients have ended.
        let _ = self.server.shutdown().await;
    }
}

impl Operator for Live {
    async fn obey(&self, order: Order, endpoints: &[SocketAddr]) -> Result<Weights, Refused> {
        let request = Request {
            who: "demo".to_owned(),
            if_match: None,
            verb: verb(order, endpoints)?,
        };
        let control = self.control.clone();
        // The state file is written and synced before the change is visible.
        let changed = tokio::task::spawn_blocking(move || control.change(&request)).await;
        let changed = changed.map_err(refused)?.map_err(refused)?;
        let groups = changed.after.groups().iter();
        Ok(groups
            .map(|group| (group.name().to_string(), group.weight().get().into()))
            .collect())
    }
}

fn verb(order: Order, endpoints: &[SocketAddr]) -> Result<Verb, Refused> {
    Ok(match order {
        Order::Register(group) => Verb::Register {
            group: name(group)?,
            endpoints: endpoints.to_vec(),
            weight: Weight::ZERO,
            compatible_with: None,
        },
        Order::Weights(weights) => {
            let weights = weights.iter().map(|(group, weight)| {
                let weight = Weight::new((*weight).into()).map_err(refused)?;
                Ok((name(group)?, weight))
            });
            Verb::Weights(weights.collect::<Result<_, Refused>>()?)
        }
        Order::Promote(group) => Verb::Promote(name(group)?),
        Order::Abort(group) => Verb::Abort {
            group: name(group)?,
            to: None,
            policy: None,
            within: None,
            force: false,
        },
    })
}

fn name(group: &str) -> Result<GroupName, Refused> {
    group.parse().map_err(refused)
}

fn refused(why: impl std::fmt::Display) -> Refused {
    Refused(why.to_string())
}
