//! The engine on real files, one module a table.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod connection;
mod effects;
mod feed;
mod queue;
mod requests;
mod resources;
mod runs;
#[cfg(unix)]
mod turns;
mod upkeep;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use fencepost_core::{Clock, Error, Options, Row, Store, Synchronous, SystemClock, Value};
use rusqlite::Connection;
use tempfile::TempDir;

/// A time in the tests' year.
const NOW: i64 = 1_785_801_600_000;

const OPTIONS: Options = Options {
    read_only: false,
    immutable: false,
    synchronous: Synchronous::Off,
    busy_timeout: Duration::from_secs(5),
};

/// A new store in a folder of its own.
struct Fixture {
    store: Store,
    path: PathBuf,
    folder: TempDir,
}

impl std::ops::Deref for Fixture {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl Fixture {
    fn new() -> Self {
        Self::with_clock(Box::new(SystemClock))
    }

    fn with_clock(clock: Box<dyn Clock>) -> Self {
        Self::make("", clock)
    }

    #[cfg(unix)]
    fn in_folder(name: &str) -> Self {
        Self::make(name, Box::new(SystemClock))
    }

    fn make(subfolder: &str, clock: Box<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join(subfolder);
        std::fs::create_dir_all(&inner).unwrap();
        let path = inner.join("store.sqlite");
        std::fs::File::create_new(&path).unwrap();
        let store = Store::open(&path, OPTIONS, clock).unwrap();
        store.use_wal().unwrap();
        assert!(store.create_schema(0, None).unwrap());
        Self {
            store,
            path,
            folder,
        }
    }

    /// The rows of a named statement.
    fn rows(&self, statement: &str, params: &[(&str, Value)]) -> Vec<Row> {
        let params: Vec<_> = params
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        self.store.read(statement, &params).unwrap()
    }

    /// Change the file with a connection of its own, as another program would.
    fn behind_its_back(&self, sql: &str) {
        Connection::open(&self.path)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    }
}

/// A clock that stands where the test puts it, or fails.
struct TestClock(Arc<AtomicI64>);

const BROKEN: i64 = i64::MIN;

impl Clock for TestClock {
    fn now_ms(&self) -> Result<i64, Error> {
        match self.0.load(Ordering::Relaxed) {
            BROKEN => Err(Error::Clock("the clock is broken".into())),
            now => Ok(now),
        }
    }
}

/// The refusal's code and subject.
fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>) -> (&'static str, Vec<Value>) {
    match outcome {
        Err(Error::Refused(refusal)) => (refusal.code, refusal.subject),
        other => panic!("not refused: {other:?}"),
    }
}

fn text(values: &[&str]) -> Vec<Value> {
    values.iter().map(|value| Value::from(*value)).collect()
}

fn owned(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}
