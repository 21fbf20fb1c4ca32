//! What sharing commits gives: writes a second of one thread and of several threads on one
//! store, in turns.
//!
//! `cargo run --release --example threads [threads] [full|normal|off] [rounds] [milliseconds]`

use std::error::Error;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fencepost_core::{Options, Store, Synchronous, SystemClock};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize, default: &str| {
        let given = arguments.get(at).map(String::as_str);
        given.unwrap_or(default).to_owned()
    };
    let threads: usize = argument(0, "8").parse()?;
    let synchronous = match argument(1, "full").as_str() {
        "off" => Synchronous::Off,
        "normal" => Synchronous::Normal,
        _ => Synchronous::Full,
    };
    let rounds: usize = argument(2, "5").parse()?;
    let time = Duration::from_millis(argument(3, "1000").parse()?);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store.sqlite");
    std::fs::File::create_new(&path)?;
    let options = Options {
        read_only: false,
        immutable: false,
        synchronous,
        busy_timeout: Duration::from_secs(5),
    };
    let store = Store::open(&path, options, Box::new(SystemClock))?;
    store.use_wal()?;
    store.create_schema(0, None)?;
    println!("{:>12} {threads:>5} threads {:>7}", "1 thread", "ratio");
    for _ in 0..rounds {
        let one = rate(&store, 1, time);
        let many = rate(&store, threads, time);
        println!("{one:10.0}/s {many:11.0}/s {:7.2}", many / one);
    }
    Ok(())
}

/// How many events a second so many threads record.
fn rate(store: &Store, threads: usize, time: Duration) -> f64 {
    let start = Barrier::new(threads + 1);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (start, over) = (&start, &over);
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(move || {
                    start.wait();
                    let mut count = 0_u32;
                    while !over.load(Ordering::Relaxed) && record(store) {
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let count: u32 = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(0))
            .sum();
        f64::from(count) / began.elapsed().as_secs_f64()
    })
}

fn record(store: &Store) -> bool {
    let text = || "text".to_owned();
    store
        .record_run_event(text(), text(), text(), None, "{}".into(), None)
        .is_ok()
}
