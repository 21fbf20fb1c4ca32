use super::*;

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use fencepost_core::statements;

#[test]
fn every_sql_file_is_included() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/fencepost/sql");
    let on_disk: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "schema" && name != "additions")
        .collect();
    let included: BTreeSet<String> = statements::all()
        .map(|(name, _)| name.split('.').next().unwrap().to_owned())
        .collect();
    assert_eq!(included, on_disk);
}

#[test]
fn every_statement_compiles() {
    let fixture = Fixture::new();
    let connection = Connection::open(&fixture.path).unwrap();
    for (name, sql) in statements::all() {
        let compiled = connection.prepare(sql).map(drop);
        assert!(compiled.is_ok(), "{name}: {compiled:?}");
        // Others follow that use what it makes.
        if sql.starts_with("CREATE") {
            fixture.behind_its_back(sql);
        }
    }
}

#[test]
fn a_parameter_that_is_missing_is_an_error_and_one_too_many_is_not() {
    let fixture = Fixture::new();
    assert!(matches!(
        fixture.read("runs.get", &[]),
        Err(Error::Internal(_))
    ));
    assert!(matches!(
        fixture.read("runs.nothing", &[]),
        Err(Error::Internal(_))
    ));
    let params = [("run_id", Value::from("r")), ("other", Value::Null)];
    assert!(fixture.rows("runs.get", &params).is_empty());
}

#[test]
fn a_missing_file_is_not_created() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("nothing.sqlite");
    let outcome = Store::open(&path, OPTIONS, Box::new(SystemClock));
    assert!(matches!(
        outcome.err(),
        Some(Error::Sqlite { code: 14, .. })
    ));
    assert!(!path.exists());
}

#[test]
fn a_layout_that_changed_meanwhile_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.sqlite");
    let foreign = Connection::open(&path).unwrap();
    let store = Store::open(&path, OPTIONS, Box::new(SystemClock)).unwrap();
    foreign.execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(!store.create_schema(0, None).unwrap());
    let tables = store.read("layout.tables", &[]).unwrap();
    assert_eq!(tables, [text(&["mine"])]);
}

#[test]
fn an_id_that_came_meanwhile_is_another_layout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("newer.sqlite");
    let newer = Connection::open(&path).unwrap();
    newer
        .execute_batch(
            "CREATE TABLE schema_info (singleton INTEGER PRIMARY KEY, schema_id TEXT NOT NULL)",
        )
        .unwrap();
    let store = Store::open(&path, OPTIONS, Box::new(SystemClock)).unwrap();
    newer
        .execute_batch("INSERT INTO schema_info VALUES (1, 'v2')")
        .unwrap();
    assert!(!store.create_schema(1, None).unwrap());
    let tables = store.read("layout.tables", &[]).unwrap();
    assert_eq!(tables, [text(&["schema_info"])]);
}

#[test]
fn an_event_comes_with_its_change_or_not_at_all() {
    let fixture = Fixture::new();
    let record = |seq: i64, kind: &str| {
        let params = vec![
            ("session_id".into(), Value::Text("s".into())),
            ("seq".into(), Value::Integer(seq)),
            ("run_id".into(), Value::Text("r".into())),
            ("workflow_ref".into(), Value::Text("w".into())),
            ("type".into(), Value::Text(kind.into())),
            ("runner_id".into(), Value::Null),
            ("payload_json".into(), Value::Text("{}".into())),
        ];
        let store = &fixture.store;
        store.change_and_record("feed.set_watermark", "feed.insert", params, Some(NOW))
    };
    assert_eq!(record(7, "acted").unwrap(), Some(1));
    record(-1, "acted").unwrap_err();
    // Here the change succeeds, and its event does not.
    let store = &fixture.store;
    let missing = vec![
        ("session_id".into(), Value::Text("t".into())),
        ("seq".into(), Value::Integer(1)),
    ];
    store
        .change_and_record("feed.set_watermark", "feed.insert", missing, Some(NOW))
        .unwrap_err();
    let rows = store.read("dump.run_events", &[]).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(store.read("dump.session_watermarks", &[]).unwrap().len(), 1);
}

#[test]
fn read_only_writes_nothing() {
    let fixture = Fixture::new();
    fixture.set_watermark("s".into(), 7, Some(NOW)).unwrap();
    let options = Options {
        read_only: true,
        ..OPTIONS
    };
    let reader = Store::open(&fixture.path, options, Box::new(SystemClock)).unwrap();
    let refused = reader.set_watermark("s".into(), 8, Some(NOW));
    assert!(matches!(refused, Err(Error::ReadOnly)), "{refused:?}");
    let params = [("session_id".to_owned(), Value::from("s"))];
    assert_eq!(
        reader.read("feed.watermark", &params).unwrap(),
        [vec![Value::Integer(7)]]
    );
}

#[test]
fn an_immutable_file_may_have_any_name() {
    let fixture = Fixture::new();
    fixture.set_watermark("s".into(), 7, Some(NOW)).unwrap();
    fixture.close().unwrap();
    let path = fixture.folder.path().join("50%3f of?it#.sqlite");
    std::fs::rename(&fixture.path, &path).unwrap();
    let options = Options {
        read_only: true,
        immutable: true,
        ..OPTIONS
    };
    let reader = Store::open(&path, options, Box::new(SystemClock)).unwrap();
    let params = [("session_id".to_owned(), Value::from("s"))];
    assert_eq!(
        reader.read("feed.watermark", &params).unwrap(),
        [vec![Value::Integer(7)]]
    );
}

#[test]
fn closing_twice_is_fine_and_using_after_is_not() {
    let fixture = Fixture::new();
    fixture.close().unwrap();
    fixture.close().unwrap();
    assert_eq!(refused(fixture.verify_run("r", "t", None)).0, "closed");
    assert_eq!(
        refused(fixture.park_run("r".into(), "t".into(), None)).0,
        "closed"
    );
}

#[test]
fn the_clock_fails_inside_a_transaction_that_is_rolled_back() {
    let time = Arc::new(AtomicI64::new(BROKEN));
    let fixture = Fixture::with_clock(Box::new(TestClock(Arc::clone(&time))));
    let outcome = fixture.set_watermark("s".into(), 1, None);
    assert!(matches!(outcome, Err(Error::Clock(_))));

    for out_of_range in [253_402_300_800_000, -62_135_596_800_001] {
        time.store(out_of_range, Ordering::Relaxed);
        assert_eq!(
            refused(fixture.set_watermark("s".into(), 1, None)),
            ("clock_out_of_range", vec![Value::Integer(out_of_range)])
        );
    }

    // The lock is free again, here and for others.
    fixture.behind_its_back("BEGIN IMMEDIATE; COMMIT");
    time.store(NOW, Ordering::Relaxed);
    fixture.set_watermark("s".into(), 2, None).unwrap();
    let params = [("session_id", Value::from("s"))];
    assert_eq!(
        fixture.rows("feed.watermark", &params),
        [vec![Value::Integer(2)]]
    );
}

#[test]
fn a_statement_that_fails_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let row = fixture
        .put_resource(
            "c".into(),
            "k".into(),
            "uid".into(),
            "{}".into(),
            "{}".into(),
            Some(NOW),
        )
        .unwrap();
    assert_eq!(row.len(), 9);
    fixture
        .reserve_effect(
            "e".into(),
            "uid".into(),
            1,
            "kind".into(),
            "print".into(),
            Some(NOW),
        )
        .unwrap();
    let outcome = fixture.update_effect(
        "uid".into(),
        "e".into(),
        "nonsense".into(),
        None,
        None,
        Some(NOW),
    );
    assert!(
        matches!(outcome, Err(Error::Sqlite { code: 275, .. })),
        "{outcome:?}"
    );
    fixture.behind_its_back("BEGIN IMMEDIATE; COMMIT");
    fixture
        .update_effect(
            "uid".into(),
            "e".into(),
            "applied".into(),
            None,
            None,
            Some(NOW),
        )
        .unwrap();
}

#[test]
fn a_writer_waits_no_longer_than_its_timeout() {
    let fixture = Fixture::new();
    let options = Options {
        busy_timeout: Duration::from_millis(50),
        ..OPTIONS
    };
    let hasty = Store::open(&fixture.path, options, Box::new(SystemClock)).unwrap();
    let other = Connection::open(&fixture.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let outcome = hasty.set_watermark("s".into(), 1, Some(NOW));
    assert!(
        matches!(outcome, Err(Error::Sqlite { code: 5, .. })),
        "{outcome:?}"
    );
    other.execute_batch("COMMIT").unwrap();
    hasty.set_watermark("s".into(), 1, Some(NOW)).unwrap();
}

#[test]
fn many_open_a_new_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    std::fs::File::create_new(&path).unwrap();
    let start = Barrier::new(16);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                start.wait();
                let store = Store::open(&path, OPTIONS, Box::new(SystemClock)).unwrap();
                store.use_wal().unwrap();
                // One of them creates it; who comes later sees another layout than it had seen.
                store.create_schema(0, None).unwrap();
                assert!(!store.create_schema(0, None).unwrap());
            });
        }
    });
}

#[test]
fn threads_share_one_store() {
    let fixture = Fixture::new();
    thread::scope(|scope| {
        for thread in 0..4 {
            let store = &fixture.store;
            scope.spawn(move || {
                for _ in 0..50 {
                    store
                        .record_run_event(
                            format!("r{thread}"),
                            "w".into(),
                            "tick".into(),
                            None,
                            "{}".into(),
                            None,
                        )
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(
        fixture.rows("feed.latest", &[]),
        [vec![Value::Integer(200)]]
    );
}

#[test]
fn values_that_another_program_wrote_are_read_as_they_are() {
    let fixture = Fixture::new();
    fixture.behind_its_back(
        "INSERT INTO run_events (recorded_at, run_id, workflow_ref, type, payload_json)
         VALUES (CAST(x'ff41' AS TEXT), x'00', 'w', 't', char(0) || 'z')",
    );
    let params = [("seq", Value::Integer(0)), ("limit", Value::Integer(10))];
    let rows = fixture.rows("feed.after", &params);
    assert_eq!(rows[0][1], Value::Blob(vec![0xff, 0x41]));
    assert_eq!(rows[0][2], Value::Blob(vec![0]));
    assert_eq!(rows[0][6], Value::from("\0z"));
}
