//! Where the lines go: a file, written by a thread of its own.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use metrics::Counter;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::AccessFormat;

/// How many lines may wait for the disk: some megabytes.
const WAITING: usize = 16_384;

/// How many lines are written at once.
const BATCH: u64 = 256;

/// How long the end of a gateway waits for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it looks meanwhile whether there is room.
const PAUSE: Duration = Duration::from_millis(10);

/// An access log. Clones write to the same file.
#[derive(Clone, Debug)]
pub(crate) struct AccessLog {
    pub(super) format: AccessFormat,
    lines: SyncSender<Word>,
    lost: Counter,
}

/// What the writer is told.
#[derive(Debug)]
enum Word {
    /// A line, which ends with a line feed.
    Line(Vec<u8>),
    /// Somebody waits until all lines before are written.
    Flush(SyncSender<()>),
}

impl AccessLog {
    /// Opens the file, to write at its end. `lost` counts lines that could not be written.
    pub(crate) fn open(path: &Path, format: AccessFormat, lost: Counter) -> io::Result<Self> {
        let file = open(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        let (lines, words) = sync_channel(WAITING);
        let failed = lost.clone();
        // it ends with the last clone: nobody waits for it
        thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write(&words, file, &failed))?;
        Ok(Self {
            format,
            lines,
            lost,
        })
    }

    /// Adds a line, which ends with a line feed. It is lost if too many wait: a request never waits
    /// for the disk.
    pub(super) fn line(&self, line: Vec<u8>) {
        if self.lines.try_send(Word::Line(line)).is_err() {
            self.lost.increment(1);
        }
    }

    /// Blocks until what was added is written, for some seconds at most.
    pub(crate) fn flush(&self) {
        let (told, written) = sync_channel(1);
        let (mut word, mut left) = (Word::Flush(told), PATIENCE);
        // as many may wait as fit, and this is to be behind them all
        while let Err(TrySendError::Full(back)) = self.lines.try_send(word) {
            if left.is_zero() {
                break;
            }
            word = back;
            thread::sleep(PAUSE);
            left = left.saturating_sub(PAUSE);
        }
        if written.recv_timeout(left.max(PAUSE)).is_err() {
            tracing::warn!("the access log was not written to its end in time");
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    // these are pipes or sockets where a service manager reads them, which cannot be opened again
    Ok(match path.to_str() {
        Some("/dev/stdout") => Box::new(io::stdout()),
        Some("/dev/stderr") => Box::new(io::stderr()),
        _ => {
            let mut options = OpenOptions::new();
            options.append(true).create(true);
            // a pipe that nobody reads is refused instead of waited for
            options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
            let file = options.open(path)?;
            // a slow reader is waited for, but not by requests
            let flags = fcntl_getfl(&file)?;
            fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
            Box::new(file)
        }
    })
}

/// Writes until nobody can send any more. A file that cannot be written loses the lines of that
/// batch and is tried again with the next.
fn write(words: &Receiver<Word>, mut file: Box<dyn Write + Send>, failed: &Counter) {
    let mut told = false;
    while let Ok(first) = words.recv() {
        let (mut lines, mut count, mut waiting) = (Vec::new(), 0, None);
        for word in std::iter::once(first).chain(words.try_iter()) {
            match word {
                Word::Line(line) => {
                    lines.extend(line);
                    count += 1;
                }
                Word::Flush(told) => waiting = Some(told),
            }
            if count == BATCH || waiting.is_some() {
                break;
            }
        }
        match file.write_all(&lines).and_then(|()| file.flush()) {
            Ok(()) => told = false,
            Err(error) => {
                failed.increment(count);
                if !told {
                    tracing::error!(%error, "the access log cannot be written");
                }
                told = true;
            }
        }
        if let Some(waiting) = waiting {
            // who waited may have gone
            let _gone = waiting.try_send(());
        }
    }
}
