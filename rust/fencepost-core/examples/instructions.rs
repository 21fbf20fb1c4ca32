//! One operation, so many times, on a fresh database with so many rows: for counting
//! instructions. What the operation costs is the difference of two counts.
//!
//! `valgrind --tool=callgrind instructions <operation> <count> <rows>`; without arguments
//! the operations are listed. Those that use their row up need a row for each time.

use std::error::Error;
use std::time::Duration;

use fencepost_core::{NewRun, Options, Store, Synchronous, SystemClock};

type Outcome = Result<(), Box<dyn Error>>;

const NOW: i64 = 1_785_801_600_000;
const LEASE_MS: i64 = 60_000;
const BATCH: usize = 500;

/// What an operation finds.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    Claimed,
    Parked,
    Keys,
    ClaimedKeys,
}

/// An operation on the row of this number.
type Operation = fn(&Store, usize) -> fencepost_core::Result<()>;

const OPERATIONS: [(&str, Rows, Operation); 15] = [
    ("runs.enqueue", Rows::Claimed, |store, at| {
        let mut run = run(at);
        run.run_id = format!("new-{at:08}");
        store.enqueue_runs(vec![run], Some(NOW)).map(drop)
    }),
    ("runs.claim", Rows::Parked, |store, _| {
        let tokens = vec![text("token")];
        let claimed = store.claim_runs(text("runner"), tokens, LEASE_MS, vec![], Some(NOW));
        claimed.map(|rows| assert_eq!(rows.len(), 1))
    }),
    ("runs.verify", Rows::Claimed, |store, at| {
        let live = store.verify_run(&run_id(at), "token", Some(NOW));
        live.map(|live| assert!(live))
    }),
    ("runs.renew", Rows::Claimed, |store, at| {
        let renewed = store.renew_runs(vec![(run_id(at), text("token"))], LEASE_MS, Some(NOW));
        renewed.map(all)
    }),
    ("runs.park", Rows::Claimed, |store, at| {
        let parked = store.park_run(run_id(at), text("token"), Some(NOW));
        parked.map(|parked| assert!(parked))
    }),
    ("runs.complete", Rows::Claimed, |store, at| {
        let completed = store.complete_runs(vec![(run_id(at), text("token"))], Some(NOW));
        completed.map(all)
    }),
    ("runs.get", Rows::Claimed, |store, at| {
        let params = [(text("run_id"), run_id(at).into())];
        let found = store.read("runs.get", &params);
        found.map(|rows| assert_eq!(rows.len(), 1))
    }),
    ("resources.put", Rows::Keys, |store, at| {
        let (key, uid) = (format!("new-{at:08}"), format!("uid-new-{at:08}"));
        let (spec, status) = (text("{}"), text("{}"));
        let put = store.put_resource(text("site"), key, uid, spec, status, Some(NOW));
        put.map(drop)
    }),
    ("queue.enqueue", Rows::Keys, |store, at| {
        let item = (text("site"), key(at), None);
        store.enqueue(vec![item], Some(NOW)).map(drop)
    }),
    ("queue.claim", Rows::Keys, |store, _| {
        let (controllers, tokens) = (vec![text("site")], vec![text("token")]);
        let claimed = store.claim_next(controllers, tokens, LEASE_MS, Some(NOW));
        claimed.map(|rows| assert_eq!(rows.len(), 1))
    }),
    ("queue.renew", Rows::ClaimedKeys, |store, at| {
        let renewed = store.renew_claims(vec![claim(at)], LEASE_MS, Some(NOW));
        renewed.map(all)
    }),
    ("queue.settle", Rows::ClaimedKeys, |store, at| {
        store.settle_claims(vec![claim(at)], Some(NOW)).map(all)
    }),
    ("events.record", Rows::Keys, |store, at| {
        let (kind, payload) = (text("tick"), text("{}"));
        let recorded = store.record_event(text("site"), key(at), kind, payload, Some(NOW));
        recorded.map(drop)
    }),
    ("feed.record", Rows::Claimed, |store, at| {
        let (workflow, kind, payload) = (text("workflow"), text("tick"), text("{}"));
        let seq = store.record_run_event(run_id(at), workflow, kind, None, payload, Some(NOW));
        seq.map(drop)
    }),
    ("feed.set_watermark", Rows::Claimed, |store, at| {
        let seq = i64::try_from(at).unwrap_or(i64::MAX);
        store.set_watermark(text("session"), seq, Some(NOW))
    }),
];

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, count, rows] = arguments.as_slice() else {
        for (name, ..) in OPERATIONS {
            println!("{name}");
        }
        return Ok(());
    };
    let (_, wanted, operation) = OPERATIONS
        .into_iter()
        .find(|(known, ..)| known == name)
        .ok_or("no such operation")?;
    let (count, rows): (usize, usize) = (count.parse()?, rows.parse()?);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store.sqlite");
    std::fs::File::create_new(&path)?;
    let options = Options {
        read_only: false,
        immutable: false,
        synchronous: Synchronous::Off,
        busy_timeout: Duration::from_secs(5),
    };
    let store = Store::open(&path, options, Box::new(SystemClock))?;
    store.use_wal()?;
    store.create_schema(0, None)?;
    fill(&store, wanted, rows)?;
    for at in 0..count {
        operation(&store, at % rows.max(1))?;
    }
    Ok(())
}

fn fill(store: &Store, wanted: Rows, rows: usize) -> Outcome {
    if matches!(wanted, Rows::Keys | Rows::ClaimedKeys) {
        for at in 0..rows {
            let (uid, spec, status) = (format!("uid-{at:08}"), text("{}"), text("{}"));
            store.put_resource(text("site"), key(at), uid, spec, status, Some(NOW))?;
        }
    }
    for first in (0..rows).step_by(BATCH) {
        let batch = first..rows.min(first + BATCH);
        match wanted {
            Rows::Claimed | Rows::Parked => {
                store.enqueue_runs(batch.clone().map(run).collect(), Some(NOW))?;
            }
            Rows::ClaimedKeys => {
                let tokens = batch.clone().map(|_| text("token")).collect();
                store.claim_next(vec![text("site")], tokens, LEASE_MS, Some(NOW))?;
            }
            Rows::Keys => {}
        }
        if wanted == Rows::Parked {
            for at in batch {
                store.park_run(run_id(at), text("token"), Some(NOW))?;
            }
        }
    }
    Ok(())
}

fn run(at: usize) -> NewRun {
    NewRun {
        run_id: run_id(at),
        workflow_name: text("workflow"),
        workflow_source_ref: text("source"),
        input_json: text("{}"),
        runner_id: text("runner"),
        claim_token: text("token"),
        lease_ms: LEASE_MS,
        affinity_runner_id: None,
        parent_run_id: None,
    }
}

fn claim(at: usize) -> (String, String, String) {
    (text("site"), key(at), text("token"))
}

fn run_id(at: usize) -> String {
    format!("run-{at:08}")
}

fn key(at: usize) -> String {
    format!("key-{at:08}")
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[expect(clippy::needless_pass_by_value, reason = "ends a chain of calls")]
fn all(done: Vec<bool>) {
    assert!(done.iter().all(|done| *done));
}
