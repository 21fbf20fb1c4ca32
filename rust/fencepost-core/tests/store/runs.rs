use super::*;

use fencepost_core::{MAX_TIME_MS, NewRun, Refusal, Source, SourceClaim};

fn run(run_id: &str, lease_ms: i64) -> NewRun {
    NewRun {
        run_id: run_id.into(),
        workflow_name: "workflow".into(),
        workflow_source_ref: "source".into(),
        input_json: "{}".into(),
        runner_id: "A".into(),
        claim_token: "token".into(),
        lease_ms,
        affinity_runner_id: None,
        parent_run_id: None,
    }
}

fn claim(run_id: &str) -> (String, String) {
    (run_id.into(), "token".into())
}

impl Fixture {
    fn add(&self, run_id: &str, now: i64) {
        let added = self
            .enqueue_runs(vec![run(run_id, 1000)], Some(now))
            .unwrap();
        assert!(added[0].is_ok(), "{added:?}");
    }

    fn add_parked(&self, run_id: &str, now: i64) {
        self.add(run_id, now);
        assert!(
            self.park_run(run_id.into(), "token".into(), Some(now))
                .unwrap()
        );
    }

    fn claim_ids(&self, runner_id: &str, excluded: &[&str], now: i64) -> Vec<String> {
        self.claim_runs(
            runner_id.into(),
            owned(&["x", "y"]),
            1000,
            owned(excluded),
            Some(now),
        )
        .unwrap()
        .iter()
        .map(|row| row[0].as_text().unwrap().to_owned())
        .collect()
    }
}

#[test]
fn a_batch_refuses_in_place_and_keeps_the_rest() {
    let fixture = Fixture::new();
    let continuation = NewRun {
        parent_run_id: Some("a".into()),
        ..run("b", 1000)
    };
    let second = NewRun {
        run_id: "c".into(),
        ..continuation.clone()
    };
    let runs = vec![
        run("a", 1000),
        run("a", 1000),
        continuation,
        second,
        run("d", i64::MAX),
    ];
    let results = fixture.enqueue_runs(runs, Some(NOW)).unwrap();
    assert!(results[0].is_ok() && results[2].is_ok());
    assert_eq!(results[1], Err(Refusal::new("run_exists", text(&["a"]))));
    assert_eq!(
        results[3],
        Err(Refusal::new("continuation_exists", text(&["a", "b"])))
    );
    let lease = [Value::Integer(i64::MAX)];
    assert_eq!(results[4], Err(Refusal::new("lease_out_of_range", lease)));
    let rows = fixture.rows("dump.workflow_run_queue", &[]);
    let ids: Vec<_> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(ids, text(&["a", "b"]));
    // Affinity is to the first runner, where nobody says otherwise.
    assert_eq!(rows[0][8], Value::from("A"));
}

#[test]
fn affinity_goes_first_then_age_then_insertion() {
    let fixture = Fixture::new();
    fixture.add_parked("young", NOW + 1);
    fixture.add_parked("old", NOW);
    fixture.add_parked("old-too", NOW);
    fixture.behind_its_back(
        "UPDATE workflow_run_queue SET affinity_runner_id = 'B' WHERE run_id = 'young'",
    );
    assert_eq!(fixture.claim_ids("B", &[], NOW + 2), ["young", "old"]);
    assert_eq!(
        fixture.claim_ids("B", &["old-too"], NOW + 2),
        Vec::<String>::new()
    );
    assert_eq!(fixture.claim_ids("C", &["young"], NOW + 2), ["old-too"]);
}

#[test]
fn affinity_goes_first_among_expired_claims_too() {
    for count in [0, 70] {
        let fixture = Fixture::new();
        fixture.add("old", NOW);
        let affine = NewRun {
            affinity_runner_id: Some("B".into()),
            ..run("affine", 1000)
        };
        assert!(fixture.enqueue_runs(vec![affine], Some(NOW + 1)).unwrap()[0].is_ok());
        for at in 0..count {
            fixture.add(&format!("run-{at}"), NOW + 2);
        }
        let claimed = fixture.claim_ids("B", &[], NOW + 5000);
        assert_eq!(claimed[..2], ["affine", "old"]);
    }
}

#[test]
fn expired_claims_are_claimed_in_their_order_however_many_there_are() {
    for count in [3, 70] {
        let fixture = Fixture::new();
        for at in 0..count {
            fixture.add(&format!("run-{at}"), NOW + at);
        }
        fixture.add_parked("parked", NOW + 1);
        // The first expires last: age decides, not the expiry.
        assert_eq!(
            fixture
                .renew_runs(vec![claim("run-0")], 1500, Some(NOW + 1))
                .unwrap(),
            [true]
        );
        assert_eq!(fixture.claim_ids("A", &[], NOW + 1500), ["run-1", "parked"]);
        assert_eq!(fixture.claim_ids("A", &["run-2"], NOW + 1501)[0], "run-0");
        assert_eq!(fixture.claim_ids("Z", &[], NOW + 1501)[0], "run-2");
    }
}

#[test]
fn a_claim_is_live_until_its_expiry_and_renewed_only_while_it_is() {
    let fixture = Fixture::new();
    fixture.add("r", NOW);
    assert!(fixture.verify_run("r", "token", Some(NOW + 999)).unwrap());
    assert!(!fixture.verify_run("r", "token", Some(NOW + 1000)).unwrap());
    assert!(!fixture.verify_run("r", "other", Some(NOW)).unwrap());
    let claims = || vec![claim("r"), claim("nothing")];
    assert_eq!(
        fixture.renew_runs(claims(), 5, Some(NOW + 999)).unwrap(),
        [true, false]
    );
    assert_eq!(
        fixture.renew_runs(claims(), 5, Some(NOW + 1004)).unwrap(),
        [false, false]
    );
    // Completing takes the token alone.
    assert_eq!(
        fixture.complete_runs(claims(), Some(NOW + 9999)).unwrap(),
        [true, false]
    );
    assert_eq!(
        fixture.complete_runs(claims(), Some(NOW)).unwrap(),
        [false, false]
    );
}

#[test]
fn a_fence_grows_with_every_claim_and_survives_a_deletion() {
    let fixture = Fixture::new();
    let fence = || fixture.rows("runs.get", &[("run_id", Value::from("r"))])[0][12].clone();
    fixture.add("r", NOW);
    assert_eq!(fence(), Value::Integer(1));
    assert!(
        fixture
            .park_run("r".into(), "token".into(), Some(NOW))
            .unwrap()
    );
    assert_eq!(fence(), Value::Null);
    assert_eq!(fixture.claim_ids("A", &[], NOW), ["r"]);
    assert_eq!(fence(), Value::Integer(2));
    assert!(fixture.delete_run("r".into(), "x".into()).unwrap());
    assert!(!fixture.delete_run("r".into(), "x".into()).unwrap());
    fixture.add("r", NOW);
    assert_eq!(fence(), Value::Integer(3));
}

#[test]
fn a_lease_past_the_last_year_is_refused() {
    let fixture = Fixture::new();
    fixture.add_parked("r", NOW);
    let tokens = owned(&["x"]);
    let outcome = fixture.claim_runs("A".into(), tokens, i64::MAX, vec![], Some(NOW));
    assert_eq!(
        refused(outcome),
        ("lease_out_of_range", vec![Value::Integer(i64::MAX)])
    );
    let longest = MAX_TIME_MS - NOW;
    let claims = vec![claim("r")];
    assert_eq!(fixture.claim_ids("A", &[], NOW), ["r"]);
    let outcome = fixture.renew_runs(claims.clone(), longest + 1, Some(NOW));
    assert_eq!(refused(outcome).0, "lease_out_of_range");
    assert_eq!(
        fixture.renew_runs(claims, longest, Some(NOW)).unwrap(),
        [false]
    );
}

#[test]
fn a_source_is_repaired_where_the_run_is_claimable() {
    let fixture = Fixture::new();
    fixture.add_parked("r", NOW);
    let wanted = |source: &str| SourceClaim {
        run_id: "r".into(),
        workflow_name: "workflow".into(),
        workflow_source_ref: source.into(),
        runner_id: "B".into(),
        claim_token: "repair".into(),
        lease_ms: 1000,
    };
    let repair = |source, now| fixture.repair_source(wanted(source), Some(now)).unwrap();
    assert_eq!(repair("source", NOW), Some(Source::Unchanged));
    assert_eq!(repair("new", NOW), Some(Source::Claimed));
    assert_eq!(repair("newer", NOW + 1), Some(Source::Claimed));
    let other = SourceClaim {
        claim_token: "other".into(),
        ..wanted("newest")
    };
    assert_eq!(
        fixture.repair_source(other.clone(), Some(NOW + 2)).unwrap(),
        None
    );
    let legacy = |old: &str, now| {
        fixture
            .claim_legacy_source(other.clone(), old.into(), Some(now))
            .unwrap()
    };
    assert!(!legacy("newer", NOW + 2));
    assert!(!legacy("unknown", NOW + 2000));
    assert!(legacy("newer", NOW + 2000));
}
