//! The insertion of runs, twenty by one statement where it can be.

use std::result;

use rusqlite::ffi::SQLITE_CONSTRAINT;
use rusqlite::{ToSql, named_params};

use super::NewRun;
use crate::error::{Error, Refusal, Result};
use crate::session::Session;
use crate::statements::{RUNS, named};
use crate::time::lease_end;
use crate::value::{Row, Value};

const CONTINUATION: &str = named(RUNS, "continuation");
const INSERT: &str = named(RUNS, "insert");
const INSERT_TWENTY: &str = named(RUNS, "insert_twenty");
const FENCE: &str = named(RUNS, "fence");

/// What the store made of each run: its row, or why there is none.
pub(super) fn all(
    session: &Session<'_>,
    runs: &[NewRun],
    now: i64,
    created_at: &str,
) -> Result<Vec<result::Result<Row, Refusal>>> {
    let mut made = Vec::with_capacity(runs.len());
    for runs in runs.chunks(20) {
        if let Some(rows) = twenty(session, runs, now, created_at)? {
            made.extend(rows.into_iter().map(Ok));
            continue;
        }
        for run in runs {
            made.push(match one(session, run, now, created_at) {
                Ok(row) => Ok(row),
                Err(Error::Refused(refusal)) => Err(refusal),
                Err(error) => return Err(error),
            });
        }
    }
    Ok(made)
}

/// Insert so many runs at once, which costs half of what it costs one by one. None where
/// there are fewer, or where one of them can't be inserted: then none is.
fn twenty(
    session: &Session<'_>,
    runs: &[NewRun],
    now: i64,
    created_at: &str,
) -> Result<Option<Vec<Row>>> {
    let ends: Vec<_> = runs
        .iter()
        .filter_map(|run| lease_end(now, run.lease_ms).ok())
        .collect();
    if ends.len() < 20 {
        return Ok(None);
    }
    let mut params: Vec<&dyn ToSql> = Vec::new();
    for (run, end) in runs.iter().zip(&ends) {
        params.extend_from_slice(&[
            &run.run_id,
            &run.workflow_name,
            &run.workflow_source_ref,
            &run.input_json,
            &run.runner_id,
            &run.claim_token,
            end,
            run.affinity(),
            &run.parent_run_id,
            &created_at,
            &created_at,
        ]);
    }
    match session.execute_all(INSERT_TWENTY, &params) {
        Ok(_) => {}
        Err(Error::Sqlite { code, .. }) if code & 0xff == SQLITE_CONSTRAINT => return Ok(None),
        Err(error) => return Err(error),
    }
    let fences = fences(session, runs)?;
    let rows = ends.into_iter().zip(fences);
    Ok(Some(
        rows.map(|(end, fence)| vec![end.into(), created_at.into(), fence])
            .collect(),
    ))
}

/// The fences of runs that were inserted one after another. Each is higher than the one
/// before it: where the last says that there are no gaps, the others need not be read.
fn fences(session: &Session<'_>, runs: &[NewRun]) -> Result<Vec<Value>> {
    if let [first, .., last] = runs
        && let Value::Integer(least) = fence(session, first)?
        && let Value::Integer(most) = fence(session, last)?
        && usize::try_from(most - least).is_ok_and(|between| between == runs.len() - 1)
    {
        return Ok((least..=most).map(Value::Integer).collect());
    }
    runs.iter().map(|run| fence(session, run)).collect()
}

fn fence(session: &Session<'_>, run: &NewRun) -> Result<Value> {
    let row = session.first(FENCE, named_params! { ":run_id": run.run_id })?;
    Ok(row
        .and_then(|row| row.into_iter().next())
        .unwrap_or(Value::Null))
}

fn one(session: &Session<'_>, run: &NewRun, now: i64, created_at: &str) -> Result<Row> {
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
    let inserted = session.changes(
        INSERT,
        named_params! {
            ":run_id": run.run_id, ":workflow_name": run.workflow_name,
            ":workflow_source_ref": run.workflow_source_ref, ":input_json": run.input_json,
            ":runner_id": run.runner_id, ":claim_token": run.claim_token,
            ":claim_expires_at": claim_expires_at,
            ":affinity_runner_id": run.affinity(), ":parent_run_id": run.parent_run_id,
            ":created_at": created_at,
        },
    )?;
    if !inserted {
        return Err(Error::refused("run_exists", [run.run_id.as_str().into()]));
    }
    // All else is as it was given.
    Ok(vec![
        claim_expires_at.into(),
        created_at.into(),
        fence(session, run)?,
    ])
}
