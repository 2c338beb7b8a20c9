//! A directory of its own for one story, gone afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A fresh directory; removed when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(format!("affinity-story-{process}-{number}"));
        fs::create_dir_all(&dir).expect("a directory for a story can be made");
        Self(dir)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Puts a file there, as a whole: it is written beside and renamed.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        let beside = self.0.join(format!("{name}.part"));
        fs::write(&beside, content).expect("the story's directory can be written");
        fs::rename(&beside, &path).expect("the story's directory can be written");
        path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // a directory that is left behind harms nobody
        drop(fs::remove_dir_all(&self.0));
    }
}
