use super::*;

#[test]
fn events_are_numbered_for_ever() {
    let fixture = Fixture::new();
    let record = || {
        fixture
            .record_run_event(
                "r".into(),
                "w".into(),
                "started".into(),
                Some("A".into()),
                "{}".into(),
                Some(NOW),
            )
            .unwrap()
    };
    assert_eq!((record(), record()), (1, 2));
    fixture.behind_its_back("DELETE FROM run_events");
    assert_eq!(record(), 3);
    let row = fixture
        .record_event(
            "c".into(),
            "k".into(),
            "Seen".into(),
            "{}".into(),
            Some(NOW),
        )
        .unwrap();
    assert_eq!(row[0], Value::Integer(1));
    assert_eq!(
        row[1..],
        text(&["2026-08-04T00:00:00.000Z", "c", "k", "Seen", "{}"])
    );
}

#[test]
fn a_watermark_never_moves_back() {
    let fixture = Fixture::new();
    for (seq, expected) in [(5, 5), (3, 5), (8, 8)] {
        fixture.set_watermark("s".into(), seq, Some(NOW)).unwrap();
        let params = [("session_id", Value::from("s"))];
        assert_eq!(
            fixture.rows("feed.watermark", &params),
            [vec![Value::Integer(expected)]]
        );
    }
}
