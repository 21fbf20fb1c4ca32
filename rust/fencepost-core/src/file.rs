//! The file under a store: where it is, and that it is still the one that was opened.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The file that was opened.
pub(crate) struct OpenedFile {
    pub(crate) path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl OpenedFile {
    /// To be made before the file is opened.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            identity: identity(path),
        }
    }

    /// Refuse to write into a file without a name: all would succeed, and nobody see it.
    pub(crate) fn check(&self) -> Result<()> {
        if identity(&self.path) == self.identity {
            Ok(())
        } else {
            Err(Error::FileGone)
        }
    }
}

/// What tells one file from all others; None for no file.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;

    let status = fs::metadata(path).ok()?;
    Some((status.dev(), status.ino()))
}

/// A file that is open can't be replaced here; that it is there has to do.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|_| (0, 0))
}
