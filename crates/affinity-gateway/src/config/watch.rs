//! Says when the configuration file, or one that it names, has other content than before.
//!
//! The *directories* are watched, because editors and mounted volumes replace a file by a rename or
//! by switching a symbolic link, which ends a watch of the file itself. What the operating system
//! reports is only a hint: the content decides, and it is also looked at every two seconds, so
//! that a lost hint (another file system behind a link, a directory made anew) is healed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};

use super::document::MAX_BYTES;

/// Follows the content of `path`, starting with what it holds now.
///
/// Call it *before* reading the file, so that no change between the two is lost. If the directory
/// cannot be watched, a warning is logged and the content is polled.
///
/// # Panics
///
/// Outside of a tokio runtime with a timer.
#[must_use]
pub fn watch(path: &Path) -> Watch {
    watch_all(vec![path.to_owned()])
}

/// As [`watch`], for several files: a change of any of them is one.
pub(crate) fn watch_all(files: Vec<PathBuf>) -> Watch {
    let (sender, hints) = mpsc::channel(1);
    let directories: BTreeSet<_> = files.iter().map(|file| directory(file)).collect();
    let mut watchers = Vec::new();
    for directory in directories {
        match watch_directory(directory, sender.clone()) {
            Ok(watcher) => watchers.push(watcher),
            Err(error) => {
                let path = directory.display();
                tracing::warn!(%path, %error, "directory is not watched, its files are polled");
            }
        }
    }
    Watch::new(files, hints, watchers)
}

/// The changes of some files; see [`watch`].
#[derive(Debug)]
pub struct Watch {
    files: Vec<PathBuf>,
    seen: Vec<Fingerprint>,
    hints: mpsc::Receiver<()>,
    hinted: bool,
    poll: Interval,
    // hints stop when they are dropped
    _watchers: Vec<RecommendedWatcher>,
}

impl Watch {
    fn new(
        files: Vec<PathBuf>,
        hints: mpsc::Receiver<()>,
        watchers: Vec<RecommendedWatcher>,
    ) -> Self {
        let mut poll = interval_at(Instant::now() + POLL, POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let seen = fingerprints(&files);
        Self {
            files,
            seen,
            hints,
            hinted: false,
            poll,
            _watchers: watchers,
        }
    }

    /// Waits until the content is another one than at the last call.
    ///
    /// A file that vanishes, or cannot be read any more, has changed too. Writing the same content
    /// again is no change. Cancelling the call loses nothing.
    pub async fn changed(&mut self) {
        loop {
            if !self.hinted {
                tokio::select! {
                    // a closed channel only means that nobody hints; the poll goes on
                    Some(()) = self.hints.recv() => self.hinted = true,
                    _ = self.poll.tick() => {}
                }
            }
            if self.hinted {
                sleep(SETTLE).await;
                while self.hints.try_recv().is_ok() {}
            }
            let files = self.files.clone();
            // the task fails only while the runtime ends; the content is as unknown as before
            let found = tokio::task::spawn_blocking(move || fingerprints(&files)).await;
            self.hinted = false;
            if let Ok(found) = found
                && found != self.seen
            {
                self.seen = found;
                return;
            }
        }
    }
}

/// Hints to `sender` whenever something happens in the directory.
fn watch_directory(
    directory: &Path,
    sender: mpsc::Sender<()>,
) -> notify::Result<RecommendedWatcher> {
    let hint = move |event: notify::Result<Event>| {
        if event.as_ref().is_ok_and(is_reading) {
            return;
        }
        // a full channel holds a hint already, a closed one has no reader any more
        let _ = sender.try_send(());
    };
    let mut watcher = notify::recommended_watcher(hint)?;
    watcher.watch(directory, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

/// Where a file is.
fn directory(file: &Path) -> &Path {
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Whether an event says that somebody only read, as we do ourselves.
fn is_reading(event: &Event) -> bool {
    let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
    event.kind.is_access() && event.kind != written
}

/// What identifies the content; `None`: it cannot be read.
type Fingerprint = Option<[u8; 32]>;

fn fingerprints(files: &[PathBuf]) -> Vec<Fingerprint> {
    files.iter().map(|file| fingerprint(file)).collect()
}

fn fingerprint(path: &Path) -> Fingerprint {
    let read = || -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        // one byte more than is ever accepted tells too long from just long enough
        File::open(path)?
            .take(MAX_BYTES as u64 + 1)
            .read_to_end(&mut content)?;
        Ok(content)
    };
    read().ok().map(|content| Sha256::digest(content).into())
}

/// Editors write in several steps; after this they are done.
const SETTLE: Duration = Duration::from_millis(200);
/// How late a change without a hint may be.
const POLL: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use tokio::time::timeout;

    use super::*;
    use crate::config::tests::scratch::Scratch;

    /// Far above what a hint or a poll takes, so that only a lost change ends the wait.
    const BOUND: Duration = Duration::from_secs(30);

    async fn noticed(watch: &mut Watch, what: &str) {
        timeout(BOUND, watch.changed())
            .await
            .unwrap_or_else(|_| panic!("{what} was not noticed"));
    }

    /// A watch with hints by hand.
    fn by_hand(path: &Path) -> (Watch, mpsc::Sender<()>) {
        let (sender, hints) = mpsc::channel(1);
        (Watch::new(vec![path.to_owned()], hints, Vec::new()), sender)
    }

    #[tokio::test]
    async fn writing_renaming_and_removing_are_noticed() {
        let dir = Scratch::new();
        let path = dir.write("gateway.toml", "a");
        let mut watch = watch(&path);
        fs::write(&path, "b").unwrap();
        noticed(&mut watch, "a write").await;
        fs::rename(dir.write("gateway.toml.new", "c"), &path).unwrap();
        noticed(&mut watch, "a rename over the file").await;
        fs::remove_file(&path).unwrap();
        noticed(&mut watch, "a removal").await;
        fs::write(&path, "c").unwrap();
        noticed(&mut watch, "the file's return").await;
    }

    #[tokio::test]
    async fn a_switched_link_above_the_file_is_noticed() {
        // as a mounted ConfigMap is updated
        let dir = Scratch::new();
        for version in ["v1", "v2"] {
            fs::create_dir(dir.path().join(version)).unwrap();
            dir.write(&format!("{version}/gateway.toml"), version);
        }
        symlink("v1", dir.path().join("..data")).unwrap();
        let path = dir.path().join("gateway.toml");
        symlink("..data/gateway.toml", &path).unwrap();
        let mut watch = watch(&path);
        symlink("v2", dir.path().join("..data_tmp")).unwrap();
        fs::rename(dir.path().join("..data_tmp"), dir.path().join("..data")).unwrap();
        noticed(&mut watch, "the switched link").await;
        assert_eq!(fs::read_to_string(&path).unwrap(), "v2");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_without_a_hint_is_found_by_the_poll() {
        let dir = Scratch::new();
        let path = dir.write("gateway.toml", "a");
        let (mut watch, _sender) = by_hand(&path);
        fs::write(&path, "b").unwrap();
        let before = Instant::now();
        watch.changed().await;
        assert_eq!(before.elapsed(), POLL);
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_goes_on_when_nobody_hints_any_more() {
        let dir = Scratch::new();
        let path = dir.write("gateway.toml", "a");
        let (mut watch, sender) = by_hand(&path);
        drop(sender);
        fs::write(&path, "b").unwrap();
        noticed(&mut watch, "a change after the last hint").await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_content_is_no_change() {
        let dir = Scratch::new();
        let path = dir.write("gateway.toml", "a");
        let (mut watch, sender) = by_hand(&path);
        fs::rename(dir.write("gateway.toml.new", "a"), &path).unwrap();
        sender.try_send(()).unwrap();
        assert!(
            timeout(BOUND, watch.changed()).await.is_err(),
            "the same content was a change"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn hints_are_taken_together() {
        let dir = Scratch::new();
        let path = dir.write("gateway.toml", "a");
        let (mut watch, sender) = by_hand(&path);
        let before = Instant::now();
        let (edit, wait) = (path.clone(), SETTLE / 4);
        let editor = tokio::spawn(async move {
            for step in ["", "b", "bb"] {
                fs::write(&edit, step).unwrap();
                let _ = sender.try_send(());
                sleep(wait).await;
            }
            sender
        });
        watch.changed().await;
        assert_eq!(before.elapsed(), SETTLE, "the first hint starts the wait");
        let _sender = editor.await.unwrap();
        assert!(
            timeout(BOUND, watch.changed()).await.is_err(),
            "one edit was two changes"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_keeps_its_hint() {
        let dir = Scratch::new();
        let path = dir.write("gateway.toml", "a");
        let (mut watch, sender) = by_hand(&path);
        fs::write(&path, "b").unwrap();
        sender.try_send(()).unwrap();
        assert!(
            timeout(SETTLE / 2, watch.changed()).await.is_err(),
            "changed before it settled"
        );
        let before = Instant::now();
        watch.changed().await;
        assert_eq!(before.elapsed(), SETTLE, "the hint was lost");
    }

    #[tokio::test]
    async fn a_directory_that_is_not_there_is_polled() {
        let dir = Scratch::new();
        let path = dir.path().join("later").join("gateway.toml");
        let mut watch = watch(&path);
        fs::create_dir(dir.path().join("later")).unwrap();
        fs::write(&path, "a").unwrap();
        noticed(&mut watch, "a file in a new directory").await;
    }
}
