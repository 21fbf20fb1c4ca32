//! What the engine adds to the bare statements: each operation against the same
//! statements run by hand, prepared once and held, on files of their own.
//!
//! `cargo run --release --example overhead [rounds]`

#![expect(
    clippy::indexing_slicing,
    reason = "there are as many times as operations"
)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use fencepost_core::statements::{ADDITIONS, CONNECTION, RUNS, SCHEMA, named};
use fencepost_core::{NewRun, Options, Store, Synchronous, SystemClock};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Statement, named_params};

type Outcome<T> = Result<T, Box<dyn Error>>;

const NOW: i64 = 1_785_801_600_000;
const STAMP: &str = "2026-08-04T00:00:00.000Z";
const LEASE_MS: i64 = 60_000;

/// How long each operation took, each time.
#[derive(Default)]
struct Times([Vec<Duration>; 6]);

const OPERATIONS: [&str; 6] = ["enqueue", "verify", "renew", "park", "claim", "complete"];
const PASSES: u32 = 3;

fn main() -> Outcome<()> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(20_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let (mut by_hand, mut by_engine) = (Times::default(), Times::default());
    // In turns, so that both see the same machine; medians, which a busy one moves little.
    for pass in 0..PASSES {
        let path = fresh(&folder.path().join(format!("bare-{pass}")))?;
        bare(&path, rounds / PASSES, &mut by_hand)?;
        let path = fresh(&folder.path().join(format!("engine-{pass}")))?;
        engine(&path, rounds / PASSES, &mut by_engine)?;
    }
    println!(
        "{:8} {:>10} {:>10} {:>7}",
        "", "bare us", "engine us", "ratio"
    );
    for (name, (bare, engine)) in OPERATIONS
        .iter()
        .zip(by_hand.0.into_iter().zip(by_engine.0))
    {
        let (bare, engine) = (median(bare), median(engine));
        println!("{name:8} {bare:10.2} {engine:10.2} {:7.2}", engine / bare);
    }
    Ok(())
}

impl Times {
    fn time<T>(&mut self, at: usize, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        let start = Instant::now();
        let done = work()?;
        self.0[at].push(start.elapsed());
        Ok(done)
    }
}

/// In microseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1e6
}

fn fresh(path: &Path) -> Outcome<std::path::PathBuf> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.execute_batch(SCHEMA)?;
    connection.execute_batch(ADDITIONS)?;
    Ok(path.to_owned())
}

fn engine(path: &Path, rounds: u32, times: &mut Times) -> Outcome<()> {
    let options = Options {
        read_only: false,
        immutable: false,
        synchronous: Synchronous::Off,
        busy_timeout: Duration::from_secs(5),
    };
    let store = Store::open(path, options, Box::new(SystemClock))?;
    let token = || "token".to_owned();
    for round in 0..rounds {
        let run_id = format!("run-{round}");
        let run = NewRun {
            run_id: run_id.clone(),
            workflow_name: "workflow".into(),
            workflow_source_ref: "source".into(),
            input_json: "{}".into(),
            runner_id: "runner".into(),
            claim_token: token(),
            lease_ms: LEASE_MS,
            affinity_runner_id: None,
            parent_run_id: None,
        };
        let runs = vec![run];
        let claims = vec![(run_id.clone(), token())];
        let (parked, runner, tokens) = (run_id.clone(), "runner".to_owned(), vec![token()]);
        let (completed, token) = (claims.clone(), token());
        times.time(0, || Ok(store.enqueue_runs(runs, Some(NOW))?))?;
        times.time(1, || Ok(store.verify_run(&run_id, "token", Some(NOW))?))?;
        times.time(2, || Ok(store.renew_runs(claims, LEASE_MS, Some(NOW))?))?;
        times.time(3, || Ok(store.park_run(parked, token, Some(NOW))?))?;
        let claimed = times.time(4, || {
            Ok(store.claim_runs(runner, tokens, LEASE_MS, vec![], Some(NOW))?)
        })?;
        assert_eq!(claimed.len(), 1);
        times.time(5, || Ok(store.complete_runs(completed, Some(NOW))?))?;
    }
    Ok(())
}

fn bare(path: &Path, rounds: u32, times: &mut Times) -> Outcome<()> {
    let connection = Connection::open(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(named(CONNECTION, "synchronous_off"))?;
    let mut begin = connection.prepare(named(CONNECTION, "begin"))?;
    let mut commit = connection.prepare(named(CONNECTION, "commit"))?;
    let mut insert = connection.prepare(named(RUNS, "insert"))?;
    let mut get = connection.prepare(named(RUNS, "get"))?;
    let mut fence = connection.prepare(named(RUNS, "fence"))?;
    let mut verify = connection.prepare(named(RUNS, "verify"))?;
    let mut renew = connection.prepare(named(RUNS, "renew"))?;
    let mut park = connection.prepare(named(RUNS, "park"))?;
    let mut expired = connection.prepare(named(RUNS, "expired_some"))?;
    let mut parked = connection.prepare(named(RUNS, "parked_affine"))?;
    let mut claim = connection.prepare(named(RUNS, "claim"))?;
    let mut complete = connection.prepare(named(RUNS, "complete"))?;
    for round in 0..rounds {
        let run_id = format!("run-{round}");
        times.time(0, || {
            begin.execute([])?;
            insert.execute(named_params! {
                ":run_id": run_id, ":workflow_name": "workflow", ":workflow_source_ref": "source",
                ":input_json": "{}", ":runner_id": "runner", ":claim_token": "token",
                ":claim_expires_at": NOW + LEASE_MS, ":affinity_runner_id": "runner",
                ":parent_run_id": None::<&str>, ":created_at": STAMP,
            })?;
            step(&mut fence, &run_id)?;
            Ok(commit.execute([])?)
        })?;
        times.time(1, || {
            Ok(verify.exists(
                named_params! { ":run_id": run_id, ":claim_token": "token", ":now": NOW },
            )?)
        })?;
        times.time(2, || {
            begin.execute([])?;
            renew.execute(named_params! {
                ":run_id": run_id, ":claim_token": "token", ":now": NOW,
                ":claim_expires_at": NOW + LEASE_MS,
            })?;
            Ok(commit.execute([])?)
        })?;
        times.time(3, || {
            begin.execute([])?;
            park.execute(named_params! {
                ":run_id": run_id, ":claim_token": "token", ":updated_at": STAMP,
            })?;
            Ok(commit.execute([])?)
        })?;
        times.time(4, || {
            begin.execute([])?;
            expired.exists(named_params! { ":now": NOW, ":limit": 65 })?;
            parked.exists(named_params! { ":runner_id": "runner" })?;
            claim.execute(named_params! {
                ":run_id": run_id, ":runner_id": "runner", ":claim_token": "token",
                ":claim_expires_at": NOW + LEASE_MS, ":updated_at": STAMP, ":now": NOW,
            })?;
            step(&mut get, &run_id)?;
            Ok(commit.execute([])?)
        })?;
        times.time(5, || {
            begin.execute([])?;
            complete.execute(named_params! {
                ":run_id": run_id, ":claim_token": "token", ":updated_at": STAMP,
            })?;
            Ok(commit.execute([])?)
        })?;
    }
    Ok(())
}

/// Read the run's columns as an engine has to: into owned values.
fn step(get: &mut Statement<'_>, run_id: &str) -> Outcome<()> {
    let columns = get.column_count();
    let mut rows = get.query(named_params! { ":run_id": run_id })?;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            std::hint::black_box(fencepost_core::Value::from(row.get_ref(column)?));
        }
    }
    Ok(())
}
