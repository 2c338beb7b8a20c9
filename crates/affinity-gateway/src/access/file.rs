//! Where the lines go: a file, written by a thread of its own.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use metrics::Counter;

use super::AccessFormat;

/// How many lines may wait for the disk: some megabytes.
const WAITING: usize = 16_384;

/// How many lines are written at once.
const BATCH: usize = 256;

/// An access log. Clones write to the same file; the last one that goes waits until everything is
/// written.
#[derive(Clone, Debug)]
pub(crate) struct AccessLog {
    pub(super) format: AccessFormat,
    lines: Arc<Lines>,
}

#[derive(Debug)]
struct Lines {
    sender: Option<SyncSender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    lost: Counter,
}

impl AccessLog {
    /// Opens the file, to write at its end. `lost` counts lines that could not be written.
    pub(crate) fn open(path: &Path, format: AccessFormat, lost: Counter) -> io::Result<Self> {
        let file = open(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        let (sender, receiver) = sync_channel(WAITING);
        let failed = lost.clone();
        let writer = thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write(&receiver, file, &failed))?;
        Ok(Self {
            format,
            lines: Arc::new(Lines {
                sender: Some(sender),
                writer: Some(writer),
                lost,
            }),
        })
    }

    /// Adds a line, which ends with a line feed. It is lost if too many wait: a request never waits
    /// for the disk.
    pub(super) fn line(&self, line: Vec<u8>) {
        let sent = self.lines.sender.as_ref().map(|to| to.try_send(line));
        if !matches!(sent, Some(Ok(()))) {
            self.lines.lost.increment(1);
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the thread of the access log failed");
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    // these are pipes or sockets where a service manager reads them, which cannot be opened again
    Ok(match path.to_str() {
        Some("/dev/stdout") => Box::new(io::stdout()),
        Some("/dev/stderr") => Box::new(io::stderr()),
        _ => Box::new(OpenOptions::new().append(true).create(true).open(path)?),
    })
}

/// Writes until nobody can send any more. A file that cannot be written loses the lines of that
/// batch and is tried again with the next.
fn write(lines: &Receiver<Vec<u8>>, mut file: Box<dyn Write + Send>, failed: &Counter) {
    let mut told = false;
    while let Ok(first) = lines.recv() {
        let batch: Vec<_> = std::iter::once(first)
            .chain(lines.try_iter().take(BATCH - 1))
            .collect();
        let written = file.write_all(&batch.concat()).and_then(|()| file.flush());
        match written {
            Ok(()) => told = false,
            Err(error) => {
                failed.increment(u64::try_from(batch.len()).unwrap_or(u64::MAX));
                if !told {
                    tracing::error!(%error, "the access log cannot be written");
                }
                told = true;
            }
        }
    }
}
