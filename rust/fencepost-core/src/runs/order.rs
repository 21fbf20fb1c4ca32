//! The order in which runs are claimed. Only the first run is looked for, by walks over
//! ordered indexes that stop at it.

use std::cmp::Ordering;
use std::collections::HashSet;

use rusqlite::named_params;

use crate::error::Result;
use crate::queue::EXPIRED_LIMIT;
use crate::session::{Params, Session};
use crate::statements::{RUNS, named};
use crate::value::{Row, Value};

const PARKED: &str = named(RUNS, "parked");
const PARKED_AFFINE: &str = named(RUNS, "parked_affine");
const EXPIRED_SOME: &str = named(RUNS, "expired_some");
const EXPIRED: &str = named(RUNS, "expired");
const EXPIRED_AFFINE: &str = named(RUNS, "expired_affine");

/// What a claim looks for.
pub(super) struct Search<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) runner_id: &'a str,
    pub(super) now: i64,
    pub(super) excluded: &'a HashSet<String>,
}

/// A run that may be claimed, in claim order.
struct Candidate {
    run_id: Value,
    created_at: Value,
    rowid: Value,
}

impl Search<'_> {
    /// The run to claim next: affinity to the runner first, then age, then insertion.
    pub(super) fn first_claimable(&self) -> Result<Option<Value>> {
        let (runner_id, now) = (self.runner_id, self.now);
        let some = self.session.all(
            EXPIRED_SOME,
            named_params! { ":now": now, ":limit": EXPIRED_LIMIT + 1 },
        )?;
        let few = (some.len() <= usize::from(EXPIRED_LIMIT)).then_some(some);

        let parked = self.walk(PARKED_AFFINE, named_params! { ":runner_id": runner_id })?;
        let expired = match &few {
            Some(rows) => self.pick(rows.iter().filter(|row| is_affine(row, runner_id))),
            None => self.walk(
                EXPIRED_AFFINE,
                named_params! { ":runner_id": runner_id, ":now": now },
            )?,
        };
        if let Some(first) = earlier(parked, expired) {
            return Ok(Some(first.run_id));
        }

        let parked = self.walk(PARKED, &[])?;
        let expired = match &few {
            Some(rows) => self.pick(rows.iter()),
            None => self.walk(EXPIRED, named_params! { ":now": now })?,
        };
        Ok(earlier(parked, expired).map(|first| first.run_id))
    }

    /// The first run of a walk in claim order that is not excluded.
    fn walk(&self, sql: &str, params: Params<'_>) -> Result<Option<Candidate>> {
        let row = self.session.find(sql, params, |row| self.is_wanted(row))?;
        Ok(row.as_ref().and_then(candidate))
    }

    /// The first run of some rows that come in no order.
    fn pick<'a>(&self, rows: impl Iterator<Item = &'a Row>) -> Option<Candidate> {
        rows.filter(|row| self.is_wanted(row))
            .filter_map(candidate)
            .min_by(Candidate::order)
    }

    /// A run whose id is no text can't be named, nor claimed.
    fn is_wanted(&self, row: &Row) -> bool {
        let run_id = row.first().and_then(Value::as_text);
        run_id.is_some_and(|run_id| !self.excluded.contains(run_id))
    }
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        self.created_at
            .order(&other.created_at)
            .then_with(|| self.rowid.order(&other.rowid))
    }
}

fn earlier(parked: Option<Candidate>, expired: Option<Candidate>) -> Option<Candidate> {
    parked.into_iter().chain(expired).min_by(Candidate::order)
}

fn is_affine(row: &Row, runner_id: &str) -> bool {
    row.get(3).and_then(Value::as_text) == Some(runner_id)
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
