//! The digest of a configuration.

use std::fmt::Write;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};
use tower_affinity::core::Digest;

use crate::config::Settings;

/// The digest of what all replicas should have alike: everything but where they listen and keep
/// their files.
pub(super) fn digest(settings: &Settings) -> Option<Digest> {
    let own = ["[listen]", "[state]"];
    let text = settings.effective();
    let sections = text.split("\n[").enumerate();
    let shared = sections.filter(|(nth, section)| {
        let heading = format!("[{section}");
        *nth == 0 || !own.iter().any(|own| heading.starts_with(own))
    });
    let mut hash = Sha256::new();
    for (_, section) in shared {
        hash.update(section);
    }
    let mut hex = String::new();
    for byte in hash.finalize().iter().take(16) {
        // writing into a string cannot fail
        let _ = write!(hex, "{byte:02x}");
    }
    Digest::from_str(&hex).ok()
}
