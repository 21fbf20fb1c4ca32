use super::*;

#[test]
fn a_key_stands_for_one_effect() {
    let fixture = Fixture::new();
    let reserve = |generation, kind: &str, print: &str| {
        fixture.reserve_effect(
            "e".into(),
            "uid".into(),
            generation,
            kind.into(),
            print.into(),
            Some(NOW),
        )
    };
    assert_eq!(
        refused(reserve(1, "kind", "p")),
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
    let (row, created) = reserve(1, "kind", "p").unwrap();
    assert!(created);
    assert_eq!(reserve(1, "kind", "p").unwrap(), (row, false));
    for other in [
        reserve(2, "kind", "p"),
        reserve(1, "other", "p"),
        reserve(1, "kind", "q"),
    ] {
        assert_eq!(refused(other), ("effect_conflict", text(&["uid", "e"])));
    }
}

#[test]
fn a_final_state_stays() {
    let fixture = Fixture::new();
    let update = |state: &str, reference: Option<&str>, error: Option<&str>| {
        fixture.update_effect(
            "uid".into(),
            "e".into(),
            state.into(),
            reference.map(Into::into),
            error.map(Into::into),
            Some(NOW),
        )
    };
    assert_eq!(
        refused(update("applied", None, None)),
        ("effect_not_found", text(&["uid", "e"]))
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
        .reserve_effect(
            "e".into(),
            "uid".into(),
            1,
            "kind".into(),
            "p".into(),
            Some(NOW),
        )
        .unwrap();
    let row = update("indeterminate", Some("ref"), Some("why")).unwrap();
    assert_eq!(
        row[7..],
        [Value::Null, Value::from("ref"), Value::from("why")]
    );
    let row = update("applied", None, None).unwrap();
    let completed_at = Value::from("2026-08-04T00:00:00.000Z");
    assert_eq!(row[7..], [completed_at, Value::from("ref"), Value::Null]);
    assert!(update("applied", None, None).is_ok());
    assert_eq!(
        refused(update("pending", None, None)),
        ("effect_terminal", text(&["uid", "e", "applied"]))
    );
}
