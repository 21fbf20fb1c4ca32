use super::*;

use fencepost_core::MAX_TIME_MS;

impl Fixture {
    fn events(&self, count: usize) {
        for _ in 0..count {
            let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(2000));
            self.record_run_event("r".into(), "w".into(), "t".into(), None, payload, Some(NOW))
                .unwrap();
        }
    }

    fn latest(&self) -> Value {
        self.rows("feed.latest", &[])[0][0].clone()
    }
}

#[test]
fn a_named_statement_changes_rows() {
    let fixture = Fixture::new();
    fixture.events(3);
    let params = vec![
        (
            "before".to_owned(),
            Value::from(fencepost_core::iso(MAX_TIME_MS)),
        ),
        ("limit".to_owned(), Value::Integer(2)),
        ("unread".to_owned(), Value::Integer(0)),
    ];
    assert_eq!(fixture.change("prune.feed", params.clone()).unwrap(), 2);
    assert_eq!(fixture.change("prune.feed", params).unwrap(), 1);
    assert!(matches!(
        fixture.change("prune.nothing", vec![]),
        Err(Error::Internal(_))
    ));
}

#[test]
fn a_backup_is_one_snapshot() {
    let fixture = Fixture::new();
    fixture.events(40);
    let target = fixture.folder.path().join("copy.sqlite");
    std::fs::File::create_new(&target).unwrap();
    let mut steps = Vec::new();
    fixture
        .backup(&target, 4, Duration::from_millis(1), |remaining, total| {
            fixture.events(1);
            steps.push((remaining, total));
            Ok(())
        })
        .unwrap();
    assert!(steps.len() > 3, "{steps:?}");
    assert!(steps.is_sorted_by(|one, next| one.0 > next.0 && one.1 == next.1));
    let copy = Store::open(&target, OPTIONS, Box::new(SystemClock)).unwrap();
    let latest = copy.read("feed.latest", &[]).unwrap();
    assert_eq!(latest, [vec![Value::Integer(40)]]);
    assert_ne!(fixture.latest(), Value::Integer(40));
}

#[test]
fn a_backup_ends_when_it_is_told_to() {
    let fixture = Fixture::new();
    let target = fixture.folder.path().join("copy.sqlite");
    std::fs::File::create_new(&target).unwrap();
    let outcome = fixture.backup(&target, 1, Duration::ZERO, |_, _| {
        Err(Error::Interrupted("enough".into()))
    });
    assert!(matches!(outcome, Err(Error::Interrupted(_))));
    fixture.close().unwrap();
    let outcome = fixture.backup(&target, 1, Duration::ZERO, |_, _| Ok(()));
    assert_eq!(refused(outcome).0, "closed");
}

#[test]
fn the_log_begins_anew_when_it_has_grown_long() {
    let fixture = Fixture::new();
    let log = || {
        let path = format!("{}-wal", fixture.path.display());
        std::fs::metadata(path).unwrap().len()
    };
    let mib = 1 << 20;
    let mut longest = 0;
    for _ in 0..100 {
        fixture.events(20);
        longest = longest.max(log());
    }
    assert!((3 * mib..5 * mib).contains(&longest), "{longest}");

    // While somebody reads it grows, and the writers do not try at each commit.
    let reader = Connection::open(&fixture.path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT * FROM run_events LIMIT 1")
        .unwrap();
    fixture.events(1500);
    assert!(log() > 5 * mib);
    reader.execute_batch("COMMIT").unwrap();
    fixture.events(1500);
    assert!(log() < 5 * mib, "{}", log());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_to_a_file_that_is_gone() {
    let fixture = Fixture::new();
    fixture.events(1);
    let elsewhere = fixture.folder.path().join("moved.sqlite");
    std::fs::rename(&fixture.path, &elsewhere).unwrap();
    let write = || fixture.set_watermark("s".into(), 1, Some(NOW));
    assert!(matches!(write(), Err(Error::FileGone)));
    std::fs::write(&fixture.path, "").unwrap();
    assert!(matches!(write(), Err(Error::FileGone)));
    std::fs::rename(&elsewhere, &fixture.path).unwrap();
    write().unwrap();
    assert_eq!(fixture.latest(), Value::Integer(1));
}
