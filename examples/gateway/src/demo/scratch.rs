//! A directory for what a gateway has to keep in files, gone with the demo.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A directory that nobody else can read; removed with all that is in it when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        let name = getrandom::u64().map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("gateway-demo-{name:016x}"));
        private().create(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "cannot remove a directory of the demo");
        }
    }
}

#[cfg(unix)]
fn private() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    // the token that is kept in it orders the gateway about
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

#[cfg(not(unix))]
fn private() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn nothing_is_left_behind() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("admin.token"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists(), "{}", path.display());
    }
}
