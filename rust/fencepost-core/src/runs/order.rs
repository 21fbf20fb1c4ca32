//! The order in which runs are claimed. Only the first runs are looked for, by walks over
//! ordered indexes that stop at them.

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

/// A run that may be claimed.
pub(super) struct Candidate {
    pub(super) run_id: String,
    /// Its place in the table.
    pub(super) rowid: i64,
    created_at: Value,
}

impl Search<'_> {
    /// The runs to claim next: affinity to the runner first, then age, then insertion.
    ///
    /// A claim makes no other run claimable, so many are found at once as well as one by one.
    pub(super) fn claimable(&self, most: usize) -> Result<Vec<Candidate>> {
        let (runner_id, now) = (self.runner_id, self.now);
        let some = self.session.all(
            EXPIRED_SOME,
            named_params! { ":now": now, ":limit": EXPIRED_LIMIT + 1 },
        )?;
        let few = (some.len() <= usize::from(EXPIRED_LIMIT)).then_some(some);

        let nobody = HashSet::new();
        let mut found = self.walk(
            PARKED_AFFINE,
            named_params! { ":runner_id": runner_id },
            most,
            &nobody,
        )?;
        found.extend(match &few {
            Some(rows) => self.pick(rows.iter().filter(|row| is_affine(row, runner_id)), &nobody),
            None => self.walk(
                EXPIRED_AFFINE,
                named_params! { ":runner_id": runner_id, ":now": now },
                most,
                &nobody,
            )?,
        });
        let mut found = first(found, most);

        if found.len() < most {
            let most = most - found.len();
            let taken = found.iter().map(|run| run.run_id.as_str()).collect();
            let mut others = self.walk(PARKED, &[], most, &taken)?;
            others.extend(match &few {
                Some(rows) => self.pick(rows.iter(), &taken),
                None => self.walk(EXPIRED, named_params! { ":now": now }, most, &taken)?,
            });
            let others = first(others, most);
            found.extend(others);
        }
        Ok(found)
    }

    /// The first runs of a walk in claim order that are wanted.
    fn walk(
        &self,
        sql: &str,
        params: Params<'_>,
        most: usize,
        taken: &HashSet<&str>,
    ) -> Result<Vec<Candidate>> {
        let rows = self
            .session
            .some(sql, params, most, |row| self.is_wanted(row, taken))?;
        Ok(rows.into_iter().filter_map(candidate).collect())
    }

    /// The wanted runs of some rows.
    fn pick<'a>(
        &self,
        rows: impl Iterator<Item = &'a Row>,
        taken: &HashSet<&str>,
    ) -> Vec<Candidate> {
        rows.filter(|row| self.is_wanted(row, taken))
            .cloned()
            .filter_map(candidate)
            .collect()
    }

    /// A run whose id is no text can't be named, nor claimed.
    fn is_wanted(&self, row: &Row, taken: &HashSet<&str>) -> bool {
        let run_id = row.first().and_then(Value::as_text);
        run_id.is_some_and(|run_id| !self.excluded.contains(run_id) && !taken.contains(run_id))
    }
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        self.created_at
            .order(&other.created_at)
            .then(self.rowid.cmp(&other.rowid))
    }
}

/// The first runs in claim order.
fn first(mut runs: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    runs.sort_by(Candidate::order);
    runs.truncate(most);
    runs
}

fn is_affine(row: &Row, runner_id: &str) -> bool {
    row.get(3).and_then(Value::as_text) == Some(runner_id)
}

fn candidate(row: Row) -> Option<Candidate> {
    let mut columns = row.into_iter();
    match (columns.next()?, columns.next()?, columns.next()?) {
        (Value::Text(run_id), created_at, Value::Integer(rowid)) => Some(Candidate {
            run_id,
            rowid,
            created_at,
        }),
        _ => None,
    }
}
