//! What the answers for the two kinds of addresses of a name mean together.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::list::{Found, Trouble};

/// The addresses of one kind, and for how long they are believed.
pub(super) type Answer = Result<(Vec<IpAddr>, Duration), Trouble>;

/// The addresses that were last found, those of IPv4 and those of IPv6: an answer that fails for
/// one kind does not take its addresses away.
#[derive(Clone, Debug, Default)]
pub(super) struct Families([Vec<IpAddr>; 2]);

impl Families {
    /// All endpoints after both answers, and for how long they are believed.
    pub(super) fn answered(&mut self, answers: [Answer; 2], port: u16) -> (Found, Duration) {
        let mut families = self.clone();
        let (mut ttl, mut kept, mut failed) = (Duration::MAX, false, None);
        for (addresses, answer) in families.0.iter_mut().zip(answers) {
            match answer {
                Ok((found, lives)) => {
                    *addresses = found;
                    ttl = ttl.min(lives);
                }
                Err(trouble) => {
                    kept |= !addresses.is_empty();
                    failed = failed.or(Some(trouble));
                }
            }
        }
        let addresses = families.0.iter().flatten();
        let endpoints: Vec<_> = addresses.map(|ip| SocketAddr::new(*ip, port)).collect();
        // a kind that was never there is missed by nobody
        let trouble = failed.filter(|_| kept || endpoints.is_empty());
        if !endpoints.is_empty() {
            *self = families;
        }
        (Found { endpoints, trouble }, ttl)
    }
}
