use super::*;

use fencepost_core::RequestChange;

fn kept() -> RequestChange {
    RequestChange {
        state: "running".into(),
        run_id: None,
        attempt: None,
        error: None,
    }
}

#[test]
fn a_key_stands_for_one_request() {
    let fixture = Fixture::new();
    let reserve = |workflow: &str, print: &str, id: &str| {
        fixture.reserve_request(
            "uid".into(),
            "q".into(),
            workflow.into(),
            print.into(),
            id.into(),
        )
    };
    assert_eq!(
        refused(reserve("w", "p", "1")),
        ("unknown_resource", text(&["uid"]))
    );
    fixture
        .put_resource(
            "c".into(),
            "k".into(),
            "uid".into(),
            "{}".into(),
            "{}".into(),
            Some(NOW),
        )
        .unwrap();
    let (row, created) = reserve("w", "p", "1").unwrap();
    assert!(created);
    assert_eq!(reserve("w", "p", "2").unwrap(), (row, false));
    for other in [reserve("v", "p", "2"), reserve("w", "q", "2")] {
        assert_eq!(refused(other), ("workflow_conflict", text(&["uid", "q"])));
    }
}

#[test]
fn an_absent_member_keeps_its_value() {
    let fixture = Fixture::new();
    assert_eq!(
        refused(fixture.update_request("1".into(), kept())),
        ("workflow_request_not_found", text(&["1"]))
    );
    fixture
        .put_resource(
            "c".into(),
            "k".into(),
            "uid".into(),
            "{}".into(),
            "{}".into(),
            Some(NOW),
        )
        .unwrap();
    fixture
        .reserve_request("uid".into(), "q".into(), "w".into(), "p".into(), "1".into())
        .unwrap();
    let change = RequestChange {
        run_id: Some(Some("r".into())),
        attempt: Some(3),
        error: Some(Some("why".into())),
        ..kept()
    };
    let tail = |row: Row| row[5..].to_vec();
    let full = vec![
        "r".into(),
        "running".into(),
        Value::Integer(3),
        "why".into(),
    ];
    assert_eq!(
        tail(fixture.update_request("1".into(), change).unwrap()),
        full
    );
    assert_eq!(
        tail(fixture.update_request("1".into(), kept()).unwrap()),
        full
    );
    let clear = RequestChange {
        run_id: Some(None),
        error: Some(None),
        ..kept()
    };
    let cleared = vec![
        Value::Null,
        "running".into(),
        Value::Integer(3),
        Value::Null,
    ];
    assert_eq!(
        tail(fixture.update_request("1".into(), clear).unwrap()),
        cleared
    );
}
