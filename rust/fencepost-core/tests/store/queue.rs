use super::*;

use fencepost_core::Refusal;

type Claim = (String, String, String);

impl Fixture {
    fn put(&self, controller: &str, key: &str, now: i64) {
        let uid = format!("{controller}/{key}");
        self.put_resource(
            controller.into(),
            key.into(),
            uid,
            "{}".into(),
            "{}".into(),
            Some(now),
        )
        .unwrap();
    }

    fn claim(&self, controllers: &[&str], tokens: &[&str], now: i64) -> Vec<Claim> {
        self.claim_next(owned(controllers), owned(tokens), 1000, Some(now))
            .unwrap()
            .iter()
            .map(|row| {
                let part = |at: usize| row[at].as_text().unwrap().to_owned();
                (part(0), part(1), part(2))
            })
            .collect()
    }
}

fn named(controller: &str, key: &str, token: &str) -> Claim {
    (controller.into(), key.into(), token.into())
}

#[test]
fn claims_come_by_time_controller_and_key() {
    let fixture = Fixture::new();
    for (controller, key, now) in [
        ("b", "k1", 0),
        ("a", "k2", 0),
        ("a", "k1", 0),
        ("a", "k0", 5),
    ] {
        fixture.put(controller, key, NOW + now);
    }
    let claims = fixture.claim(&["a", "b"], &["1", "2", "3", "4"], NOW + 4);
    let expected = [
        named("a", "k1", "1"),
        named("a", "k2", "2"),
        named("b", "k1", "3"),
    ];
    assert_eq!(claims, expected);
    assert_eq!(fixture.claim(&[], &["5"], NOW + 9), []);
    assert_eq!(
        fixture.claim(&["a", "b"], &["5"], NOW + 5),
        [named("a", "k0", "5")]
    );
}

#[test]
fn expired_claims_come_back_however_many_there_are() {
    for count in [3, 70] {
        let fixture = Fixture::new();
        for at in 0..count {
            fixture.put("a", &format!("k{at:02}"), NOW - at);
        }
        let tokens: Vec<String> = (0..count).map(|at| format!("t{at}")).collect();
        let claimed = fixture
            .claim_next(owned(&["a"]), tokens.clone(), 1000, Some(NOW))
            .unwrap();
        assert_eq!(claimed.len(), tokens.len());
        assert_eq!(fixture.claim(&["a"], &["x"], NOW + 999), []);
        let last = format!("k{:02}", count - 1);
        assert_eq!(
            fixture.claim(&["a"], &["x"], NOW + 1000),
            [named("a", &last, "x")]
        );
    }
}

#[test]
fn waiting_and_expired_rows_share_one_order() {
    let fixture = Fixture::new();
    fixture.put("a", "lost", NOW);
    fixture.claim(&["a"], &["t"], NOW);
    fixture.put("a", "waits", NOW + 1);
    fixture.put("b", "waits", NOW - 1);
    let claims = fixture.claim(&["a", "b"], &["1", "2", "3"], NOW + 1000);
    let expected = [
        named("b", "waits", "1"),
        named("a", "lost", "2"),
        named("a", "waits", "3"),
    ];
    assert_eq!(claims, expected);
}

#[test]
fn an_event_during_a_claim_is_not_lost() {
    let fixture = Fixture::new();
    fixture.put("a", "k", NOW);
    let claims = fixture.claim(&["a"], &["t"], NOW);
    let again = vec![("a".to_owned(), "k".to_owned(), None)];
    assert_eq!(fixture.enqueue(again, Some(NOW + 1)).unwrap(), [Ok(())]);
    assert_eq!(
        fixture
            .settle_claims(claims.clone(), Some(NOW + 2))
            .unwrap(),
        [true]
    );
    assert_eq!(
        fixture
            .settle_claims(claims.clone(), Some(NOW + 2))
            .unwrap(),
        [false]
    );
    let claims = fixture.claim(&["a"], &["u"], NOW + 2);
    assert_eq!(
        fixture
            .settle_claims(claims.clone(), Some(NOW + 2))
            .unwrap(),
        [true]
    );
    assert!(fixture.rows("dump.queue", &[]).is_empty());
}

#[test]
fn a_key_without_resource_is_refused_in_its_place() {
    let fixture = Fixture::new();
    fixture.put("a", "k", NOW);
    let item = |key: &str| ("a".to_owned(), key.to_owned(), Some(NOW - 7));
    let results = fixture
        .enqueue(vec![item("nothing"), item("k")], Some(NOW))
        .unwrap();
    let refusal = Refusal::new("resource_not_found", text(&["a", "nothing"]));
    assert_eq!(results, [Err(refusal), Ok(())]);
    let rows = fixture.rows("dump.queue", &[]);
    assert_eq!(rows[0][2..4], [Value::Integer(NOW - 7), Value::Integer(2)]);
}

#[test]
fn renewing_and_requeueing_take_the_token() {
    let fixture = Fixture::new();
    fixture.put("a", "k", NOW);
    let claims = fixture.claim(&["a"], &["t"], NOW);
    let stranger = named("a", "k", "other");
    let both = vec![claims[0].clone(), stranger];
    assert_eq!(
        fixture
            .renew_claims(both.clone(), 10, Some(NOW + 999))
            .unwrap(),
        [true, false]
    );
    assert_eq!(
        fixture
            .renew_claims(both.clone(), 10, Some(NOW + 1009))
            .unwrap(),
        [false, false]
    );
    assert!(
        !fixture
            .requeue_claim("a".into(), "k".into(), "other".into(), NOW, None)
            .unwrap()
    );
    assert!(
        fixture
            .requeue_claim(
                "a".into(),
                "k".into(),
                "t".into(),
                NOW + 50,
                Some("why".into())
            )
            .unwrap()
    );
    let rows = fixture.rows("dump.queue", &[]);
    assert_eq!(rows[0][2], Value::Integer(NOW + 50));
    assert_eq!(
        rows[0][4..7],
        [Value::Integer(1), Value::from("why"), Value::Null]
    );
}
