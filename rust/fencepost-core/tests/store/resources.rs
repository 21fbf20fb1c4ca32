use super::*;

impl Fixture {
    fn spec(&self, spec: &str, now: i64) -> Row {
        self.put_resource(
            "c".into(),
            "k".into(),
            "uid".into(),
            spec.into(),
            "{}".into(),
            Some(now),
        )
        .unwrap()
    }
}

fn queue_version(fixture: &Fixture) -> Value {
    fixture.rows("dump.queue", &[])[0][3].clone()
}

#[test]
fn another_spec_is_a_new_version_and_the_same_is_none() {
    let fixture = Fixture::new();
    let versions = |row: &Row| (row[3].clone(), row[4].clone());
    assert_eq!(versions(&fixture.spec("1", NOW)), (1.into(), 1.into()));
    assert_eq!(versions(&fixture.spec("1", NOW)), (1.into(), 1.into()));
    assert_eq!(queue_version(&fixture), Value::Integer(1));
    let row = fixture
        .put_resource(
            "c".into(),
            "k".into(),
            "another uid".into(),
            "2".into(),
            "another status".into(),
            Some(NOW),
        )
        .unwrap();
    assert_eq!(versions(&row), (2.into(), 2.into()));
    assert_eq!(
        (&row[0], &row[6]),
        (&Value::from("uid"), &Value::from("{}"))
    );
    assert_eq!(queue_version(&fixture), Value::Integer(2));
}

#[test]
fn a_status_is_swapped_only_in_the_expected_version() {
    let fixture = Fixture::new();
    let update = |version, status: &str, finalizers: Option<&str>| {
        fixture.update_status(
            "c".into(),
            "k".into(),
            version,
            status.into(),
            finalizers.map(Into::into),
            Some(NOW),
        )
    };
    assert_eq!(
        refused(update(1, "s", None)),
        ("resource_not_found", text(&["c", "k"]))
    );
    fixture.spec("1", NOW);
    let row = update(1, "s", None).unwrap();
    assert_eq!((&row[3], &row[8]), (&Value::Integer(2), &Value::from("[]")));
    let mut subject = text(&["c", "k"]);
    subject.extend([Value::Integer(1), Value::Integer(2)]);
    assert_eq!(
        refused(update(1, "t", None)),
        ("resource_conflict", subject)
    );
    assert_eq!(update(2, "s", Some("[]")).unwrap(), row);
    assert_eq!(
        update(2, "s", Some("[\"f\"]")).unwrap()[3],
        Value::Integer(3)
    );
}

#[test]
fn a_resource_goes_when_it_may() {
    let fixture = Fixture::new();
    assert!(!fixture.delete_resource("c".into(), "k".into(), 1).unwrap());
    assert_eq!(
        refused(fixture.request_deletion("c".into(), "k".into(), Some(NOW))).0,
        "resource_not_found"
    );
    fixture.spec("1", NOW);
    let delete = |version| fixture.delete_resource("c".into(), "k".into(), version);
    assert_eq!(refused(delete(9)).0, "not_ready_for_deletion");
    let first = fixture
        .request_deletion("c".into(), "k".into(), Some(NOW))
        .unwrap();
    assert_eq!(
        fixture
            .request_deletion("c".into(), "k".into(), Some(NOW + 1))
            .unwrap(),
        first
    );
    assert_eq!(queue_version(&fixture), Value::Integer(3));
    fixture
        .update_finalizers("c".into(), "k".into(), 2, "[\"f\"]".into(), Some(NOW))
        .unwrap();
    assert_eq!(refused(delete(3)).0, "not_ready_for_deletion");
    fixture
        .update_finalizers("c".into(), "k".into(), 3, "[]".into(), Some(NOW))
        .unwrap();
    assert_eq!(refused(delete(3)).0, "resource_conflict");
    assert!(delete(4).unwrap());
    assert!(fixture.rows("dump.queue", &[]).is_empty());
}
