//! Endpoints from a file that is watched.

use std::fs;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::list::{Found, Trouble};
use crate::config::{Watch, watch};
use crate::control::Failure;

/// Far above 10,000 endpoints with a comment each.
const MAX_BYTES: u64 = 1 << 20;

/// A file with one endpoint a line.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    changes: Watch,
}

impl File {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            changes: watch(path),
        }
    }

    pub(super) async fn find(&self) -> Found {
        let path = self.path.clone();
        // the task fails only while the runtime ends
        match spawn_blocking(move || read(&path)).await {
            Ok(found) => found,
            Err(error) => Trouble::new(Failure::Error, error.to_string()).into(),
        }
    }

    /// Waits until the file has changed.
    pub(super) async fn rest(&mut self) {
        self.changes.changed().await;
    }
}

fn read(path: &Path) -> Found {
    let bytes = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(path)?
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let parsed = match bytes() {
        Ok(bytes) => parse(&bytes),
        Err(error) => Err(Trouble::new(
            Failure::Error,
            format!("it cannot be read: {error}"),
        )),
    };
    match parsed {
        Ok(endpoints) => Found {
            endpoints,
            trouble: None,
        },
        Err(trouble) => trouble.into(),
    }
}

/// One `IP:PORT` a line; blank lines, and lines that begin with `#`, say nothing. The last line
/// has an end too, else the file may have been read while it was written.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<SocketAddr>, Trouble> {
    let invalid = |why: &str| Trouble::new(Failure::Invalid, why);
    if bytes.len() as u64 > MAX_BYTES {
        return Err(invalid("it is longer than 1 MiB"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8"))?;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(invalid("its last line has no end: it may be cut off"));
    }
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(nth, line)| {
            let wrong = || invalid(&format!("line {} is not IP:PORT", nth + 1));
            line.parse().map_err(|_| wrong())
        })
        .collect()
}
