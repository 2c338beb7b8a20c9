//! [`Callers`]: the services whose sessions are told apart here by their own pins.

mod read;

use thiserror::Error;
use tower_affinity_core::{InvalidName, PinVerifier, ServiceName};

pub(crate) use self::read::FromCaller;
use crate::{InvalidNetwork, Trust, VerifyingKeyring};

/// The most services whose pins are read, since a token may have to be tried with each.
pub const MAX_CALLERS: usize = 16;

/// The services in front of this one whose pins are read as *keys*: a session of theirs is drawn here
/// by its id, as by a user's, so that it meets one commit of this service as well.
///
/// Such a pin comes in `affinity-pin`, where a [`PropagateLayer`](crate::PropagateLayer) of the caller
/// puts it, and never counts as a pin of this service: it says nothing about groups here. If the
/// request has a pin of this service too, that counts. The cause of the decision is `keyed`. A pin
/// that is expired, that no key of its caller has signed, or that comes from a peer that is not trusted
/// is ignored. Who shows nothing but such a pin gets none of ours in return, unless it also sends an
/// empty `affinity-pin`, which asks for one.
///
/// A service deeper down gets the pin of the service where the session began, since who is in the
/// middle hands on what it got. So each service names those where sessions begin, and the peers are
/// those that call it.
///
/// Without a store the draw alone decides, by the weights of the moment: a session can change its
/// commit with the weights, and a promote moves it. With one
/// ([`AffinityBuilder::store`](crate::AffinityBuilder::store)) the first assignment stands under that
/// key, is refreshed by use, and ends as any session here does: a session keeps its commit of this
/// service though the caller returns no pin of it.
///
/// A key that both services sign with makes the caller able to sign pins of this service. Give each
/// service a ring of its own, and where there is one, a ring here that only verifies.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tower_affinity::{AffinityLayer, Callers, Keyring};
/// # use tower_affinity::core::{NewGroup, Revision, Rollout, Timestamp, Weight};
/// # let groups = [NewGroup::active("9f1c2ab".parse()?, Weight::new(1)?).stable()];
/// # let rollout = Rollout::new(Revision(1), Timestamp::from_secs(1_800_000_000), groups)?;
/// # let (web, own) = (Keyring::ephemeral()?, Keyring::ephemeral()?);
///
/// let layer = AffinityLayer::builder()
///     .keyring(own)
///     .service("cart")
///     .rollout(rollout)
///     .callers(Callers::from_networks(["10.0.0.0/8"])?.caller("web", web)?)
///     .build()?;
/// # let _ = layer; Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Callers {
    trust: Trust,
    callers: Vec<Caller>,
}

/// One service and what opens its pins.
#[derive(Clone, Debug)]
struct Caller {
    verifier: PinVerifier,
    /// What keeps keys of its sessions apart from all others.
    source: Box<str>,
}

/// Callers that cannot be told apart or trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallersError {
    /// A network of peers is none.
    #[error(transparent)]
    Network(#[from] InvalidNetwork),
    /// A caller's name has not the form of one.
    #[error("the caller {name:?} cannot be used")]
    Name {
        /// The name.
        name: String,
        /// What is accepted.
        source: InvalidName,
    },
    /// A caller was named twice.
    #[error("the caller {0:?} was named twice")]
    Twice(String),
    /// There are more than [`MAX_CALLERS`].
    #[error("at most {MAX_CALLERS} callers can be named")]
    TooMany,
}

impl Callers {
    /// Pins count from peers in these networks only, by [`PeerAddr`](crate::PeerAddr), which the
    /// server has to set on each request.
    ///
    /// # Errors
    ///
    /// If one is no network.
    pub fn from_networks<I, N>(networks: I) -> Result<Self, CallersError>
    where
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let networks = networks.into_iter().map(|text| text.as_ref().parse());
        Ok(Self {
            trust: Trust::Peers(networks.collect::<Result<_, InvalidNetwork>>()?),
            callers: Vec::new(),
        })
    }

    /// Pins count from everyone: where the network lets nobody in but services of one's own.
    pub fn from_everyone() -> Self {
        Self {
            trust: Trust::Everyone,
            callers: Vec::new(),
        }
    }

    /// The pins of the service `name` count that one of these keys has signed, all of which only verify
    /// here.
    ///
    /// # Errors
    ///
    /// If the name has not the form of one or was there before, or if there are too many.
    pub fn caller(
        mut self,
        name: impl Into<String>,
        keyring: impl Into<VerifyingKeyring>,
    ) -> Result<Self, CallersError> {
        let name = name.into();
        if self.callers.len() == MAX_CALLERS {
            return Err(CallersError::TooMany);
        }
        if self.names(&name) {
            return Err(CallersError::Twice(name));
        }
        let service: ServiceName = match name.parse() {
            Ok(service) => service,
            Err(source) => return Err(CallersError::Name { name, source }),
        };
        let keyring = keyring.into();
        self.callers.push(Caller {
            source: format!("session of {service}").into(),
            verifier: keyring.verifier(service),
        });
        Ok(self)
    }

    /// Whether that service is one of them.
    pub(crate) fn names(&self, service: &str) -> bool {
        let mut callers = self.callers.iter();
        callers.any(|caller| caller.verifier.service().as_str() == service)
    }
}
