//! The run queue: claiming, renewing and ending runs.

mod insert;
mod order;

use std::collections::HashSet;

use rusqlite::named_params;

use self::order::{Candidate, Search};
use crate::connection::Store;
use crate::error::{Refusal, Result};
use crate::json::{write_integer, write_quoted};
use crate::statements::{RUNS, named};
use crate::time::{iso, lease_end};
use crate::value::Row;

const GET: &str = named(RUNS, "get");
const GET_MANY: &str = named(RUNS, "get_many");
const CLAIM: &str = named(RUNS, "claim");
const CLAIM_MANY: &str = named(RUNS, "claim_many");
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

impl NewRun {
    /// The runner that is preferred.
    fn affinity(&self) -> &String {
        self.affinity_runner_id.as_ref().unwrap_or(&self.runner_id)
    }
}

/// What a repair did to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The run is parked and has the source already.
    Unchanged,
    /// The run got the source, and is claimed.
    Claimed,
}

/// The claim that a source repair wants.
#[derive(Clone, Debug)]
pub struct SourceClaim {
    /// The run's id.
    pub run_id: String,
    /// The workflow's name.
    pub workflow_name: String,
    /// The source that the run shall have.
    pub workflow_source_ref: String,
    /// Who claims the run.
    pub runner_id: String,
    /// The token of the claim.
    pub claim_token: String,
    /// How long the claim lasts.
    pub lease_ms: i64,
}

impl Store {
    /// Insert runs, each claimed by its runner; what the store made of each: when the claim
    /// ends, when the run was created, and its fence. A run is refused in its place.
    pub fn enqueue_runs(
        &self,
        runs: Vec<NewRun>,
        now: Option<i64>,
    ) -> Result<Vec<std::result::Result<Row, Refusal>>> {
        self.write(move |session| {
            let now = session.now(now)?;
            insert::all(session, &runs, now, &iso(now))
        })
    }

    /// Claim up to as many runs as there are tokens, in claim order.
    pub fn claim_runs(
        &self,
        runner_id: String,
        claim_tokens: Vec<String>,
        lease_ms: i64,
        exclude_run_ids: Vec<String>,
        now: Option<i64>,
    ) -> Result<Vec<Row>> {
        let excluded: HashSet<String> = exclude_run_ids.into_iter().collect();
        self.write(move |session| {
            let now = session.now(now)?;
            let claim_expires_at = lease_end(now, lease_ms)?;
            let updated_at = iso(now);
            let search = Search {
                session,
                runner_id: &runner_id,
                now,
                excluded: &excluded,
            };
            let found = search.claimable(claim_tokens.len())?;
            let claims: Vec<_> = found.iter().zip(&claim_tokens).collect();
            // A sequence is claimed in the order of the table, which so must be its own.
            for sequence in claims.chunk_by(|(a, _), (b, _)| a.rowid < b.rowid) {
                match sequence {
                    [(run, claim_token)] => session.execute(
                        CLAIM,
                        named_params! {
                            ":run_id": run.run_id, ":claim_token": claim_token,
                            ":runner_id": runner_id, ":claim_expires_at": claim_expires_at,
                            ":updated_at": updated_at, ":now": now,
                        },
                    )?,
                    _ => session.execute(
                        CLAIM_MANY,
                        named_params! {
                            ":claims": tokens(sequence),
                            ":runner_id": runner_id, ":claim_expires_at": claim_expires_at,
                            ":updated_at": updated_at, ":now": now,
                        },
                    )?,
                };
            }
            match found.as_slice() {
                [] => Ok(vec![]),
                [run] => session.all(GET, named_params! { ":run_id": run.run_id }),
                _ => session.all(GET_MANY, named_params! { ":places": places(&found) }),
            }
        })
    }

    /// Extend live claims.
    pub fn renew_runs(
        &self,
        claims: Vec<RunClaim>,
        lease_ms: i64,
        now: Option<i64>,
    ) -> Result<Vec<bool>> {
        self.write(move |session| {
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
            let now = session.now(now)?;
            self.patiently(|| {
                session.exists(
                    VERIFY,
                    named_params! {
                        ":run_id": run_id, ":claim_token": claim_token, ":now": now,
                    },
                )
            })
        })
    }

    /// Give a run back, for anybody to claim.
    pub fn park_run(&self, run_id: String, claim_token: String, now: Option<i64>) -> Result<bool> {
        self.write(move |session| {
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
    pub fn complete_runs(&self, claims: Vec<RunClaim>, now: Option<i64>) -> Result<Vec<bool>> {
        self.write(move |session| {
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
    pub fn delete_run(&self, run_id: String, claim_token: String) -> Result<bool> {
        self.write(move |session| {
            session.changes(
                DELETE,
                named_params! { ":run_id": run_id, ":claim_token": claim_token },
            )
        })
    }

    /// Give a claimable run the wanted source and claim it, unless it is parked with that
    /// source. None where the run can't be repaired.
    pub fn repair_source(&self, claim: SourceClaim, now: Option<i64>) -> Result<Option<Source>> {
        self.write(move |session| {
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
        claim: SourceClaim,
        old_workflow_path: String,
        now: Option<i64>,
    ) -> Result<bool> {
        self.write(move |session| {
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

/// The token of each run under its place in the table, as a JSON object.
fn tokens(claims: &[(&Candidate, &String)]) -> String {
    let mut object = String::from("{");
    for (run, claim_token) in claims {
        if object.len() > 1 {
            object.push(',');
        }
        object.push('"');
        write_integer(run.rowid, &mut object);
        object.push_str("\":");
        write_quoted(claim_token, &mut object);
    }
    object.push('}');
    object
}

/// The places of the runs in the table, as a JSON list.
fn places(runs: &[Candidate]) -> String {
    let mut list = String::from("[");
    for run in runs {
        if list.len() > 1 {
            list.push(',');
        }
        write_integer(run.rowid, &mut list);
    }
    list.push(']');
    list
}
