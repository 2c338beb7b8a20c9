//! What the command line says.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The command line.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    pub(crate) ledger: PathBuf,
    pub(crate) protocol: Protocol,
    /// Whether it refuses what was meant for another group.
    pub(crate) identity: bool,
}

/// What is spoken; none is negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    H2c,
}

impl Options {
    /// Reads the words behind the program's name.
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Self {
        let words: Vec<_> = words.collect();
        let [group, name, address, ledger, protocol, identity] = &words[..] else {
            panic!("GROUP NAME ADDRESS LEDGER http1|h2c plain|identity, not {words:?}");
        };
        Self {
            group: group.clone(),
            name: name.clone(),
            address: address.parse().expect("an address to listen at"),
            ledger: ledger.into(),
            protocol: match protocol.as_str() {
                "http1" => Protocol::Http1,
                "h2c" => Protocol::H2c,
                other => panic!("neither http1 nor h2c: {other}"),
            },
            identity: match identity.as_str() {
                "plain" => false,
                "identity" => true,
                other => panic!("neither plain nor identity: {other}"),
            },
        }
    }
}
