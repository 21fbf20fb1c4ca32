//! Threads whose writes wait behind another one, until all of them are in the line.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, named_params};
use tempfile::TempDir;

use super::*;
use crate::clock::{Clock, SystemClock};
use crate::connection::Store;
use crate::open::{Options, Synchronous};
use crate::statements::FEED;
use crate::value::{Row, Value};

const SET_WATERMARK: &str = named(FEED, "set_watermark");
const TIMEOUT: Duration = Duration::from_millis(200);

struct Fixture {
    store: Arc<Store>,
    path: PathBuf,
    _folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::with_clock(SystemClock)
    }

    fn with_clock(clock: impl Clock + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        std::fs::File::create_new(&path).unwrap();
        let options = Options {
            read_only: false,
            immutable: false,
            synchronous: Synchronous::Off,
            busy_timeout: TIMEOUT,
        };
        let store = Arc::new(Store::open(&path, options, Box::new(clock)).unwrap());
        store.use_wal().unwrap();
        assert!(store.create_schema(0, None).unwrap());
        Self {
            store,
            path,
            _folder: folder,
        }
    }

    /// The outcomes of writes that all waited while another one was in its transaction.
    fn behind<T, W>(&self, jobs: Vec<W>) -> Vec<Result<T>>
    where
        T: Send + 'static,
        W: Fn(&Session<'_>) -> Result<T> + Send + Sync + 'static,
    {
        self.behind_while(jobs, || ())
    }

    /// The same; `meanwhile` happens when all of them wait.
    fn behind_while<T, W>(&self, jobs: Vec<W>, meanwhile: impl FnOnce()) -> Vec<Result<T>>
    where
        T: Send + 'static,
        W: Fn(&Session<'_>) -> Result<T> + Send + Sync + 'static,
    {
        let (inside, is_inside) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let first = self.spawn(move |session| {
            let _ = inside.send(());
            // Open, once the other end is gone.
            let _ = gate.lock().unwrap().recv();
            set(session, "first")
        });
        is_inside.recv().unwrap();
        let count = jobs.len();
        let others: Vec<_> = jobs.into_iter().map(|job| self.spawn(job)).collect();
        while self.store.waiting() != count {
            thread::yield_now();
        }
        meanwhile();
        drop(open);
        first.join().unwrap().unwrap();
        let ended = others.into_iter().map(|other| other.join().unwrap());
        ended.collect()
    }

    fn spawn<T, W>(&self, work: W) -> JoinHandle<Result<T>>
    where
        T: Send + 'static,
        W: Fn(&Session<'_>) -> Result<T> + Send + Sync + 'static,
    {
        let store = Arc::clone(&self.store);
        thread::spawn(move || store.write(work))
    }

    /// How many pages there are in the log.
    fn frames(&self) -> i64 {
        let other = Connection::open(&self.path).unwrap();
        let checkpoint = "PRAGMA wal_checkpoint(PASSIVE)";
        other.query_row(checkpoint, [], |row| row.get(1)).unwrap()
    }

    fn sessions(&self) -> Vec<String> {
        let rows = self.store.read("dump.session_watermarks", &[]).unwrap();
        let name = |row: &Row| row.first().and_then(Value::as_text).unwrap().to_owned();
        let mut names: Vec<_> = rows.iter().map(name).collect();
        names.sort();
        names
    }
}

fn set(session: &Session<'_>, name: &str) -> Result<()> {
    let params = named_params! { ":session_id": name, ":seq": 1, ":updated_at": "" };
    session.execute(SET_WATERMARK, params)?;
    Ok(())
}

type Work<T> = Box<dyn Fn(&Session<'_>) -> Result<T> + Send + Sync>;

/// Writes a row of this number, then does what the test wants.
fn job<T: 'static>(
    number: usize,
    then: impl Fn(&Session<'_>, usize) -> Result<T> + Send + Sync + 'static,
) -> Work<T> {
    Box::new(move |session| {
        set(session, &format!("job-{number:02}"))?;
        then(session, number)
    })
}

fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    let jobs = numbers.into_iter().map(|number| format!("job-{number:02}"));
    let mut names: Vec<_> = jobs.chain(["first".to_owned()]).collect();
    names.sort();
    names
}

#[test]
fn each_keeps_its_own_result_and_all_share_one_commit() {
    let fixture = Fixture::new();
    // As long as somebody reads, the log is not begun anew.
    let reader = Connection::open(&fixture.path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM queue").unwrap();
    for alone in [job(0, |_, _| Ok(())), job(1, |_, _| Ok(()))] {
        fixture.store.write(alone).unwrap();
    }
    let before = fixture.frames();
    fixture.store.write(job(2, |_, _| Ok(()))).unwrap();
    let one = fixture.frames() - before;
    let jobs = (3..40).map(|number| job(number, |_, number| Ok(number)));
    let outcomes = fixture.behind(jobs.collect());
    let numbers: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
    assert_eq!(numbers, (3..40).collect::<Vec<_>>());
    assert_eq!(fixture.sessions(), names(0..40));
    let shared = fixture.frames() - before - one;
    assert!(
        (1..=3 * one).contains(&shared),
        "{shared} pages for 38 jobs, {one} for one"
    );
}

#[test]
fn more_jobs_than_a_batch_holds_are_done_too() {
    let fixture = Fixture::new();
    let jobs = (0..MOST_JOBS + 20).map(|number| job(number, |_, _| Ok(())));
    let outcomes = fixture.behind(jobs.collect());
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(fixture.sessions(), names(0..MOST_JOBS + 20));
}

#[test]
fn what_fails_undoes_itself_alone() {
    let fixture = Fixture::new();
    let fails = |_: &Session<'_>, number: usize| match number % 4 {
        0 => Ok(()),
        1 => Err(Error::refused("run_exists", [])),
        2 => Err(Error::Clock("no time".into())),
        _ => panic!("a defect"),
    };
    let jobs = (0..20).map(|number| job(number, fails));
    for (number, outcome) in fixture.behind(jobs.collect()).into_iter().enumerate() {
        match outcome {
            Ok(()) => assert_eq!(number % 4, 0),
            Err(Error::Refused(refusal)) => {
                assert_eq!((number % 4, refusal.code), (1, "run_exists"));
            }
            Err(Error::Clock(_)) => assert_eq!(number % 4, 2),
            Err(Error::Internal(text)) => assert_eq!((number % 4, &*text), (3, "a defect")),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(fixture.sessions(), names((0..20).step_by(4)));
}

#[test]
fn a_transaction_that_sqlite_rolled_back_is_done_again_by_each_alone() {
    let fixture = Fixture::new();
    let times = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&times);
    let jobs = (0..10).map(|number| {
        let counted = Arc::clone(&counted);
        job(number, move |session, number| {
            if number == 5 {
                counted.fetch_add(1, Ordering::Relaxed);
                session.connection.execute_batch("ROLLBACK")?;
                return Err(Error::refused("run_exists", []));
            }
            Ok(())
        })
    });
    let outcomes = fixture.behind(jobs.collect());
    let failed: Vec<_> = (0..10).filter(|at| outcomes[*at].is_err()).collect();
    assert_eq!(failed, [5]);
    assert!(matches!(&outcomes[5], Err(Error::Refused(_))));
    assert_eq!(times.load(Ordering::Relaxed), 2);
    assert_eq!(fixture.sessions(), names((0..10).filter(|at| *at != 5)));
}

#[test]
fn a_commit_that_fails_is_the_fault_of_one() {
    let fixture = Fixture::new();
    let jobs = (0..10).map(|number| {
        job(number, |session, number| {
            if number == 3 {
                // No such resource, which only the COMMIT finds out.
                session.connection.execute_batch(
                    "PRAGMA defer_foreign_keys = ON;
                     INSERT INTO queue VALUES ('c', 'k', 0, 1, 0, NULL, NULL, NULL, NULL)",
                )?;
            }
            Ok(())
        })
    });
    let outcomes = fixture.behind(jobs.collect());
    let failed: Vec<_> = (0..10).filter(|at| outcomes[*at].is_err()).collect();
    assert_eq!(failed, [3]);
    assert!(matches!(&outcomes[3], Err(Error::Sqlite { code: 787, .. })));
    assert_eq!(fixture.sessions(), names((0..10).filter(|at| *at != 3)));
}

#[test]
fn whoever_waits_for_another_process_waits_for_its_own_timeout() {
    let fixture = Fixture::new();
    let other = Connection::open(&fixture.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let jobs = (0..8).map(|number| job(number, |_, _| Ok(())));
    let threads: Vec<_> = jobs.map(|job| fixture.spawn(job)).collect();
    for thread in threads {
        let outcome = thread.join().unwrap();
        assert!(matches!(outcome, Err(Error::Sqlite { code: 5, .. })));
    }
    let waited = begun.elapsed();
    assert!((TIMEOUT..TIMEOUT * 4).contains(&waited), "{waited:?}");
    other.execute_batch("ROLLBACK").unwrap();
    fixture
        .store
        .write(|session| set(session, "first"))
        .unwrap();
    assert_eq!(fixture.sessions(), ["first"]);
}

#[test]
fn closing_ends_what_waits() {
    let fixture = Fixture::new();
    let store = Arc::clone(&fixture.store);
    let (closing, is_closed) = mpsc::channel();
    let jobs = (0..4).map(|number| job(number, |_, _| Ok(())));
    let outcomes = fixture.behind_while(jobs.collect(), || {
        thread::spawn(move || closing.send(store.close()));
        while fixture.store.waiting() != 0 {
            thread::yield_now();
        }
    });
    is_closed.recv().unwrap().unwrap();
    for outcome in outcomes {
        assert!(matches!(outcome, Err(Error::Refused(refusal)) if refusal.code == "closed"));
    }
    let found = Connection::open(&fixture.path).unwrap().query_row(
        "SELECT count(*) FROM session_watermarks",
        [],
        |row| row.get(0),
    );
    assert_eq!(found, Ok(1));
}

/// Interrupts every thread that asks, while it is on.
struct Interrupting(Arc<AtomicBool>);

impl Clock for Interrupting {
    fn now_ms(&self) -> Result<i64> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Error::Interrupted("stop".into()));
        }
        SystemClock.now_ms()
    }

    fn check_interrupts(&self) -> Result<()> {
        self.now_ms().map(drop)
    }
}

#[test]
fn an_interrupted_thread_leaves_the_line_and_its_job_is_not_done() {
    let interrupting = Arc::new(AtomicBool::new(false));
    let fixture = Fixture::with_clock(Interrupting(Arc::clone(&interrupting)));
    let jobs = (0..4).map(|number| job(number, |_, _| Ok(())));
    let outcomes = fixture.behind_while(jobs.collect(), || {
        interrupting.store(true, Ordering::Relaxed);
        while fixture.store.waiting() != 0 {
            thread::yield_now();
        }
    });
    for outcome in outcomes {
        assert!(matches!(outcome, Err(Error::Interrupted(_))));
    }
    assert_eq!(fixture.sessions(), ["first"]);
}

#[test]
fn an_interrupted_wait_for_another_process_leaves_no_transaction() {
    let interrupting = Arc::new(AtomicBool::new(true));
    let fixture = Fixture::with_clock(Interrupting(Arc::clone(&interrupting)));
    let other = Connection::open(&fixture.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let outcome = fixture.store.write(|session| set(session, "never"));
    assert!(matches!(outcome, Err(Error::Interrupted(_))));
    other
        .execute_batch("ROLLBACK; BEGIN IMMEDIATE; COMMIT")
        .unwrap();
    fixture
        .store
        .write(|session| set(session, "first"))
        .unwrap();
    assert_eq!(fixture.sessions(), ["first"]);
}

#[test]
fn an_interrupt_inside_another_threads_job_is_not_its_outcome() {
    let fixture = Fixture::new();
    let (inside, is_inside) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let first = fixture.spawn(move |session| {
        let _ = inside.send(());
        let _ = gate.lock().unwrap().recv();
        set(session, "first")
    });
    is_inside.recv().unwrap();
    let first_thread = first.thread().id();
    let second = fixture.spawn(move |session| {
        set(session, "second")?;
        if thread::current().id() == first_thread {
            return Err(Error::Interrupted("stop".into()));
        }
        Ok(())
    });
    while fixture.store.waiting() != 1 {
        thread::yield_now();
    }
    drop(open);
    assert!(matches!(first.join().unwrap(), Err(Error::Interrupted(_))));
    second.join().unwrap().unwrap();
    assert_eq!(fixture.sessions(), ["second"]);
}

#[test]
fn who_looks_only_now_and_then_is_not_starved() {
    let fixture = Fixture::new();
    let over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|number| {
            let (store, over) = (Arc::clone(&fixture.store), Arc::clone(&over));
            thread::spawn(move || {
                let name = format!("job-{number}");
                while !over.load(Ordering::Relaxed) {
                    store.set_watermark(name.clone(), 1, None).unwrap();
                }
            })
        })
        .collect();
    let mut longest = Duration::ZERO;
    for _ in 0..50 {
        let begun = Instant::now();
        fixture.store.verify_run("r", "t", None).unwrap();
        longest = longest.max(begun.elapsed());
    }
    over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
    assert!(longest < Duration::from_secs(1), "{longest:?}");
}
