//! Opening a file: flags, settings, and the name that SQLite is given.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::clock::Clock;
use crate::error::Result;
use crate::patience::patiently;
use crate::statements::{CONNECTION, named};

const FOREIGN_KEYS_ON: &str = named(CONNECTION, "foreign_keys_on");
const SYNCHRONOUS_FULL: &str = named(CONNECTION, "synchronous_full");
const SYNCHRONOUS_NORMAL: &str = named(CONNECTION, "synchronous_normal");
const SYNCHRONOUS_OFF: &str = named(CONNECTION, "synchronous_off");
const OWN_CHECKPOINTS: &str = named(CONNECTION, "own_checkpoints");
const QUERY_ONLY: &str = named(CONNECTION, "query_only");

/// More than there are statements, so that none is ever prepared twice.
const KEPT_STATEMENTS: usize = 256;

/// When a commit has reached the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Before the call returns.
    Full,
    /// At the next checkpoint; a power failure may lose the last commits.
    Normal,
    /// When the operating system likes.
    Off,
}

/// How to open a file.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Never write to it.
    pub read_only: bool,
    /// Nobody writes to it: take no locks and look for no journal.
    pub immutable: bool,
    /// When a commit has reached the disk.
    pub synchronous: Synchronous,
    /// How long to wait for another process's lock.
    pub busy_timeout: Duration,
}

/// A connection to the existing file at an absolute path.
pub(crate) fn open(path: &Path, options: Options, clock: &dyn Clock) -> Result<Connection> {
    let connection = connect(path, options)?;
    // Waiting is done above SQLite, whose own handler lets old waiters lose to new ones.
    connection.busy_timeout(Duration::ZERO)?;
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    // Else SQLite looks at the values when it plans, and plans anew for each that is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    let synchronous = match options.synchronous {
        Synchronous::Full => SYNCHRONOUS_FULL,
        Synchronous::Normal => SYNCHRONOUS_NORMAL,
        Synchronous::Off => SYNCHRONOUS_OFF,
    };
    let read_only = options.read_only.then_some(QUERY_ONLY);
    let always = [FOREIGN_KEYS_ON, synchronous, OWN_CHECKPOINTS];
    for setting in always.into_iter().chain(read_only) {
        patiently(options.busy_timeout, clock, || {
            Ok(connection.execute_batch(setting)?)
        })?;
    }
    Ok(connection)
}

fn connect(path: &Path, options: Options) -> Result<Connection> {
    let access = if options.read_only {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    } else {
        OpenFlags::SQLITE_OPEN_READ_WRITE
    };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(if options.immutable {
        let uri = immutable_uri(path.as_os_str());
        Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(path, flags)?
    })
}

/// `file:` and the path, every byte that means something in a URI escaped.
fn immutable_uri(path: &OsStr) -> PathBuf {
    let mut uri = String::from("file://");
    for byte in path.as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => {
                // Writing to a String can't fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push_str("?immutable=1");
    PathBuf::from(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_a_uri_would_read() {
        assert_eq!(
            immutable_uri(OsStr::new("/a b/50%?#ä.db")),
            PathBuf::from("file:///a%20b/50%25%3F%23%C3%A4.db?immutable=1"),
        );
    }
}
