//! What an attacker has: hand-written bytes, forged tokens, and endpoints that record all bytes.

mod forge;
mod recorder;
mod site;
mod talk;

pub(crate) use self::forge::{Forged, SECRET, signed, unpadded};
pub(crate) use self::recorder::Recorder;
pub(crate) use self::site::{A, B, Decoy, Site, now, start, start_text};
pub(crate) use self::talk::{Reply, Talk, ask, get, h2, talk};
