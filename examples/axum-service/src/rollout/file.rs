//! The file of a rollout: read whole, replaced whole, changed by one at a time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tower_affinity::core::Rollout;

use super::Failure;

/// The longest file that those who follow it read.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// How often the lock is tried, and the wait in between: 2 seconds in all. A change takes milliseconds.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// The file itself where the path is a link, so that the link stays one.
pub(super) fn resolved(path: &Path) -> PathBuf {
    // what cannot be resolved fails when it is read, and is named there
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The rollout that a file holds.
pub(super) fn read(path: &Path) -> Result<Rollout, Failure> {
    let access = |source: io::Error| match source.kind() {
        ErrorKind::NotFound => Failure::Missing(path.to_owned()),
        _ => failed("read", path, source),
    };
    let mut content = Vec::new();
    let file = File::open(path).map_err(access)?;
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut content);
    if read.map_err(access)? as u64 > MAX_BYTES {
        return Err(Failure::Size(path.to_owned()));
    }
    let document = serde_json::from_slice(&content);
    let document = document.map_err(|error| Failure::Json(path.to_owned(), error))?;
    Rollout::from_document(&document).map_err(|error| Failure::Document(path.to_owned(), error))
}

/// The right to change a file, until it is dropped or the process ends.
///
/// It is a lock of the system on a file of its own: the rollout's file is replaced, and a lock on it
/// would go with it. That file stays, since who deletes it could delete the next one's lock.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    _lock: File,
}

impl Held {
    /// Waits for the right, but not for ever.
    pub(super) fn take(path: &Path) -> Result<Self, Failure> {
        let beside = beside(path, ".lock");
        let lock = File::options()
            .create(true)
            .append(true)
            .open(&beside)
            .map_err(|source| failed("open", &beside, source))?;
        for _ in 0..TRIES {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    let path = path.to_owned();
                    return Ok(Self { path, _lock: lock });
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => sleep(PAUSE),
                Err(error) => return Err(failed("lock", &beside, error.into())),
            }
        }
        Err(Failure::Busy(path.to_owned()))
    }

    /// Replaces the file.
    pub(super) fn write(&self, rollout: &Rollout) -> Result<(), Failure> {
        let content = rollout.to_document().to_string();
        if content.len() as u64 > MAX_BYTES {
            return Err(Failure::Size(self.path.clone()));
        }
        replace(&self.path, &content).map_err(|source| failed("write", &self.path, source))
    }
}

/// Replaces a file so that nobody sees half of it, and it outlasts a crash. Its mode stays.
pub(crate) fn replace(path: &Path, content: &str) -> io::Result<()> {
    let beside = beside(path, ".new");
    let written = write_as(path, &beside, content);
    if written.is_err() {
        // what could not be written is worth nothing, the first error tells why
        let _ = fs::remove_file(&beside);
    }
    written?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // the name has to outlast a crash too
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn write_as(path: &Path, beside: &Path, content: &str) -> io::Result<()> {
    let mut file = File::create(beside)?;
    match fs::metadata(path) {
        Ok(present) => file.set_permissions(present.permissions())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(beside, path)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn failed(verb: &'static str, path: &Path, source: io::Error) -> Failure {
    let path = path.to_owned();
    Failure::Access { verb, path, source }
}
