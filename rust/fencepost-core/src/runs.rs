//! The run queue: claiming, renewing and ending runs.

use std::cmp::Ordering;
use std::collections::HashSet;

use rusqlite::named_params;

use crate::connection::Store;
use crate::error::{Error, Refusal, Result};
use crate::queue::EXPIRED_LIMIT;
use crate::session::{Params, Session};
use crate::statements::{RUNS, named};
use crate::time::{iso, lease_end};
use crate::value::{Row, Value};

const GET: &str = named(RUNS, "get");
const EXISTS: &str = named(RUNS, "exists");
const CONTINUATION: &str = named(RUNS, "continuation");
const INSERT: &str = named(RUNS, "insert");
const PARKED: &str = named(RUNS, "parked");
const PARKED_AFFINE: &str = named(RUNS, "parked_affine");
const EXPIRED_SOME: &str = named(RUNS, "expired_some");
const EXPIRED: &str = named(RUNS, "expired");
const EXPIRED_AFFINE: &str = named(RUNS, "expired_affine");
const CLAIM: &str = named(RUNS, "claim");
const RENEW: &str = named(RUNS, "renew");
const VERIFY: &str = named(RUNS, "verify");
const PARK: &str = named(RUNS, "park");
const COMPLETE: &str = named(RUNS, "complete");
const DELETE: &str = named(RUNS, "delete");
const PARKED_WITH_SOURCE: &str = named(RUNS, "parked_with_source");
const REPAIR_SOURCE: &str = named(RUNS, "repair_source");
const CLAIM_LEGACY_SOURCE: &str = named(RUNS, "claim_legacy_source");

/// Run id and claim token.
pub type RunClaim = (String, String);

/// A run to enqueue.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The run's id.
    pub run_id: String,
    /// The workflow's name.
    pub workflow_name: String,
    /// Where the workflow's source is.
    pub workflow_source_ref: String,
    /// The run's input.
    pub input_json: String,
    /// The runner that holds the run at first.
    pub runner_id: String,
    /// The token of that claim.
    pub claim_token: String,
    /// How long that claim lasts.
    pub lease_ms: i64,
    /// The runner that is preferred later; None is the first one.
    pub affinity_runner_id: Option<String>,
    /// The finished run that this one continues.
    pub parent_run_id: Option<String>,
}

/// What a repair did to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The run is parked and has the source already.
    Unchanged,
    /// The run got the source, and is claimed.
    Claimed,
}

/// A run that may be claimed, in claim order.
struct Candidate {
    run_id: Value,
    created_at: Value,
    rowid: Value,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        self.created_at
            .order(&other.created_at)
            .then_with(|| self.rowid.order(&other.rowid))
    }
}

/// The claim that a source repair wants.
pub struct SourceClaim<'a> {
    /// The run's id.
    pub run_id: &'a str,
    /// The workflow's name.
    pub workflow_name: &'a str,
    /// The source that the run shall have.
    pub workflow_source_ref: &'a str,
    /// Who claims the run.
    pub runner_id: &'a str,
    /// The token of the claim.
    pub claim_token: &'a str,
    /// How long the claim lasts.
    pub lease_ms: i64,
}

impl Store {
    /// Insert runs, each claimed by its runner. A run is refused in its place.
    pub fn enqueue_runs(
        &self,
        runs: &[NewRun],
        now: Option<i64>,
    ) -> Result<Vec<std::result::Result<Row, Refusal>>> {
        self.write(|session| {
            let now = session.now(now)?;
            let created_at = iso(now);
            runs.iter()
                .map(|run| match insert(session, run, now, &created_at) {
                    Ok(row) => Ok(Ok(row)),
                    Err(Error::Refused(refusal)) => Ok(Err(refusal)),
                    Err(error) => Err(error),
                })
                .collect()
        })
    }

    /// Claim up to as many runs as there are tokens, in claim order.
    pub fn claim_runs(
        &self,
        runner_id: &str,
        claim_tokens: &[String],
        lease_ms: i64,
        exclude_run_ids: &[String],
        now: Option<i64>,
    ) -> Result<Vec<Row>> {
        let excluded: HashSet<&str> = exclude_run_ids.iter().map(String::as_str).collect();
        self.write(|session| {
            let now = session.now(now)?;
            let claim_expires_at = lease_end(now, lease_ms)?;
            let updated_at = iso(now);
            let mut claims = Vec::new();
            for claim_token in claim_tokens {
                let Some(run_id) = first_claimable(session, runner_id, now, &excluded)? else {
                    break;
                };
                session.execute(
                    CLAIM,
                    named_params! {
                        ":run_id": run_id, ":runner_id": runner_id, ":claim_token": claim_token,
                        ":claim_expires_at": claim_expires_at, ":updated_at": updated_at,
                        ":now": now,
                    },
                )?;
                claims.push(session.one(GET, named_params! { ":run_id": run_id })?);
            }
            Ok(claims)
        })
    }

    /// Extend live claims.
    pub fn renew_runs(
        &self,
        claims: &[RunClaim],
        lease_ms: i64,
        now: Option<i64>,
    ) -> Result<Vec<bool>> {
        self.write(|session| {
            let now = session.now(now)?;
            let claim_expires_at = lease_end(now, lease_ms)?;
            claims
                .iter()
                .map(|(run_id, claim_token)| {
                    session.changes(
                        RENEW,
                        named_params! {
                            ":run_id": run_id, ":claim_token": claim_token,
                            ":claim_expires_at": claim_expires_at, ":now": now,
                        },
                    )
                })
                .collect()
        })
    }

    /// Whether a claim is live. Changes nothing.
    pub fn verify_run(&self, run_id: &str, claim_token: &str, now: Option<i64>) -> Result<bool> {
        self.session(|session| {
            session.exists(
                VERIFY,
                named_params! {
                    ":run_id": run_id, ":claim_token": claim_token, ":now": session.now(now)?,
                },
            )
        })
    }

    /// Give a run back, for anybody to claim.
    pub fn park_run(&self, run_id: &str, claim_token: &str, now: Option<i64>) -> Result<bool> {
        self.write(|session| {
            session.changes(
                PARK,
                named_params! {
                    ":run_id": run_id, ":claim_token": claim_token,
                    ":updated_at": iso(session.now(now)?),
                },
            )
        })
    }

    /// Finish runs.
    pub fn complete_runs(&self, claims: &[RunClaim], now: Option<i64>) -> Result<Vec<bool>> {
        self.write(|session| {
            let updated_at = iso(session.now(now)?);
            claims
                .iter()
                .map(|(run_id, claim_token)| {
                    session.changes(
                        COMPLETE,
                        named_params! {
                            ":run_id": run_id, ":claim_token": claim_token,
                            ":updated_at": updated_at,
                        },
                    )
                })
                .collect()
        })
    }

    /// Delete a claimed run; its parent may be continued anew.
    pub fn delete_run(&self, run_id: &str, claim_token: &str) -> Result<bool> {
        self.write(|session| {
            session.changes(
                DELETE,
                named_params! { ":run_id": run_id, ":claim_token": claim_token },
            )
        })
    }

    /// Give a claimable run the wanted source and claim it, unless it is parked with that
    /// source. None where the run can't be repaired.
    pub fn repair_source(
        &self,
        claim: &SourceClaim<'_>,
        now: Option<i64>,
    ) -> Result<Option<Source>> {
        self.write(|session| {
            let now = session.now(now)?;
            let claim_expires_at = lease_end(now, claim.lease_ms)?;
            let unchanged = session.exists(
                PARKED_WITH_SOURCE,
                named_params! {
                    ":run_id": claim.run_id, ":workflow_source_ref": claim.workflow_source_ref,
                },
            )?;
            if unchanged {
                return Ok(Some(Source::Unchanged));
            }
            let claimed = session.changes(
                REPAIR_SOURCE,
                named_params! {
                    ":run_id": claim.run_id, ":workflow_name": claim.workflow_name,
                    ":workflow_source_ref": claim.workflow_source_ref,
                    ":runner_id": claim.runner_id, ":claim_token": claim.claim_token,
                    ":claim_expires_at": claim_expires_at, ":updated_at": iso(now), ":now": now,
                },
            )?;
            Ok(claimed.then_some(Source::Claimed))
        })
    }

    /// Claim a run that has the old source or the new one, and give it the new one.
    pub fn claim_legacy_source(
        &self,
        claim: &SourceClaim<'_>,
        old_workflow_path: &str,
        now: Option<i64>,
    ) -> Result<bool> {
        self.write(|session| {
            let now = session.now(now)?;
            session.changes(
                CLAIM_LEGACY_SOURCE,
                named_params! {
                    ":run_id": claim.run_id, ":workflow_name": claim.workflow_name,
                    ":workflow_source_ref": claim.workflow_source_ref,
                    ":old_workflow_path": old_workflow_path,
                    ":runner_id": claim.runner_id, ":claim_token": claim.claim_token,
                    ":claim_expires_at": lease_end(now, claim.lease_ms)?,
                    ":updated_at": iso(now), ":now": now,
                },
            )
        })
    }
}

fn insert(session: &Session<'_>, run: &NewRun, now: i64, created_at: &str) -> Result<Row> {
    let claim_expires_at = lease_end(now, run.lease_ms)?;
    if let Some(parent) = &run.parent_run_id {
        let found = session.first(CONTINUATION, named_params! { ":parent_run_id": parent })?;
        if let Some(continuation) = found.and_then(|row| row.into_iter().next()) {
            return Err(Error::refused(
                "continuation_exists",
                [parent.as_str().into(), continuation],
            ));
        }
    }
    if session.exists(EXISTS, named_params! { ":run_id": run.run_id })? {
        return Err(Error::refused("run_exists", [run.run_id.as_str().into()]));
    }
    session.execute(
        INSERT,
        named_params! {
            ":run_id": run.run_id, ":workflow_name": run.workflow_name,
            ":workflow_source_ref": run.workflow_source_ref, ":input_json": run.input_json,
            ":runner_id": run.runner_id, ":claim_token": run.claim_token,
            ":claim_expires_at": claim_expires_at,
            ":affinity_runner_id": run.affinity_runner_id.as_ref().unwrap_or(&run.runner_id),
            ":parent_run_id": run.parent_run_id, ":created_at": created_at,
        },
    )?;
    session.one(GET, named_params! { ":run_id": run.run_id })
}

/// The run to claim next: affinity to the runner first, then age, then insertion.
fn first_claimable(
    session: &Session<'_>,
    runner_id: &str,
    now: i64,
    excluded: &HashSet<&str>,
) -> Result<Option<Value>> {
    let some = session.all(
        EXPIRED_SOME,
        named_params! { ":now": now, ":limit": EXPIRED_LIMIT + 1 },
    )?;
    let few = (some.len() <= usize::from(EXPIRED_LIMIT)).then_some(some);
    let first = |parked: Option<Candidate>, walk: &str, params: Params<'_>, affine: bool| {
        let expired = match &few {
            None => first_of(session, walk, params, excluded)?,
            Some(rows) => rows
                .iter()
                .filter(|row| !affine || row.get(3).and_then(Value::as_text) == Some(runner_id))
                .filter(|row| !is_excluded(row, excluded))
                .filter_map(candidate)
                .min_by(Candidate::order),
        };
        Ok::<_, Error>(parked.into_iter().chain(expired).min_by(Candidate::order))
    };
    let runner = named_params! { ":runner_id": runner_id };
    let parked = first_of(session, PARKED_AFFINE, runner, excluded)?;
    let walk = named_params! { ":runner_id": runner_id, ":now": now };
    let mut found = first(parked, EXPIRED_AFFINE, walk, true)?;
    if found.is_none() {
        let parked = first_of(session, PARKED, &[], excluded)?;
        found = first(parked, EXPIRED, named_params! { ":now": now }, false)?;
    }
    Ok(found.map(|candidate| candidate.run_id))
}

/// The first row of a walk in claim order that is not excluded.
fn first_of(
    session: &Session<'_>,
    sql: &str,
    params: Params<'_>,
    excluded: &HashSet<&str>,
) -> Result<Option<Candidate>> {
    let row = session.find(sql, params, |row| !is_excluded(row, excluded))?;
    Ok(row.as_ref().and_then(candidate))
}

fn is_excluded(row: &Row, excluded: &HashSet<&str>) -> bool {
    row.first()
        .and_then(Value::as_text)
        .is_some_and(|run_id| excluded.contains(run_id))
}

fn candidate(row: &Row) -> Option<Candidate> {
    match row.as_slice() {
        [run_id, created_at, rowid, ..] => Some(Candidate {
            run_id: run_id.clone(),
            created_at: created_at.clone(),
            rowid: rowid.clone(),
        }),
        _ => None,
    }
}
