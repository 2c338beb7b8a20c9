//! Looks at a file again and again.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::error::FileError;
use crate::record::{Input, Recorder};

/// The longest file that is read: 1 MiB.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// How often a file is looked at by default.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// The least time between two looks: pins above our revision ask for one, and there can be many.
const PAUSE: Duration = Duration::from_millis(20);

/// A file that is followed.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) path: PathBuf,
    pub(super) every: Duration,
    pub(super) recorder: Recorder,
}

/// Who gets the content of a file.
pub(super) trait Reader: Send + 'static {
    /// Which one it is, for the metric.
    const INPUT: Input;

    /// Takes new content, whole or not at all.
    fn take(&mut self, content: &[u8]) -> Result<(), FileError>;

    /// A look at the file is over, whatever it has brought. `false` if nobody needs another.
    fn looked(&mut self) -> bool;
}

impl Followed {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            every: EVERY,
            recorder: Recorder::default(),
        }
    }

    /// The content, to begin with.
    pub(super) fn read(&self) -> Result<Vec<u8>, FileError> {
        read(&self.path)
    }

    /// Follows the file from the content on that was `seen`, in a task of its own; a word to `ask` has
    /// it looked at soon.
    pub(super) fn follow<R: Reader>(self, seen: Vec<u8>, ask: Arc<Notify>, reader: R) {
        tokio::spawn(self.run(seen, ask, reader));
    }

    async fn run<R: Reader>(self, mut seen: Vec<u8>, ask: Arc<Notify>, mut reader: R) {
        let mut failed = None;
        loop {
            sleep(PAUSE).await;
            // asked or not, it is looked at now
            let _ = timeout(self.every, ask.notified()).await;
            let path = self.path.clone();
            let content = tokio::task::spawn_blocking(move || read(&path)).await;
            let content = content.unwrap_or_else(|error| Err(FileError::Read(error.into())));
            let fails = content.as_ref().err().map(FileError::kind);
            let failed_before = std::mem::replace(&mut failed, fails);
            let news = match content {
                Ok(content) if content == seen => Ok(()),
                Ok(content) => {
                    seen = content;
                    reader.take(&seen)
                }
                // said once, not every second
                Err(_) if failed_before == fails => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = news {
                self.refuse::<R>(&error);
            }
            if !reader.looked() {
                return;
            }
        }
    }

    fn refuse<R: Reader>(&self, error: &FileError) {
        let (path, input) = (self.path.display(), R::INPUT.as_str());
        let error: &(dyn std::error::Error + 'static) = error;
        tracing::warn!(%path, input, error, "file refused, what was there stays");
        self.recorder.input_rejected(R::INPUT);
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let mut content = Vec::new();
    let file = File::open(path).map_err(FileError::Read)?;
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut content);
    let length = read.map_err(FileError::Read)?;
    if length as u64 > MAX_BYTES {
        return Err(FileError::Size);
    }
    Ok(content)
}
