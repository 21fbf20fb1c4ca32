//! Requests of a resource for child workflows.

use rusqlite::named_params;

use crate::connection::Store;
use crate::error::{Error, Result};
use crate::resources;
use crate::statements::{REQUESTS, named};
use crate::value::{Row, Value};

const GET: &str = named(REQUESTS, "get");
const GET_BY_ID: &str = named(REQUESTS, "get_by_id");
const INSERT: &str = named(REQUESTS, "insert");
const UPDATE: &str = named(REQUESTS, "update");

/// A change of a request. An absent member keeps its value; an inner None clears it.
#[derive(Clone, Copy, Debug)]
pub struct RequestChange<'a> {
    /// The new state.
    pub state: &'a str,
    /// The run that serves the request.
    pub run_id: Option<Option<&'a str>>,
    /// How often the request was tried.
    pub attempt: Option<i64>,
    /// What went wrong.
    pub error: Option<Option<&'a str>>,
}

impl Store {
    /// The record under the key, and whether it is new.
    pub fn reserve_request(
        &self,
        resource_uid: &str,
        request_key: &str,
        workflow: &str,
        input_fingerprint: &str,
        request_id: &str,
    ) -> Result<(Row, bool)> {
        self.write(|session| {
            resources::require_uid(session, resource_uid)?;
            let key = named_params! { ":resource_uid": resource_uid, ":request_key": request_key };
            if let Some(row) = session.first(GET, key)? {
                let same = matches!(
                    row.as_slice(),
                    [_, _, _, Value::Text(its_fingerprint), Value::Text(its_workflow), ..]
                    if its_fingerprint == input_fingerprint && its_workflow == workflow
                );
                if same {
                    return Ok((row, false));
                }
                return Err(Error::refused(
                    "workflow_conflict",
                    [resource_uid.into(), request_key.into()],
                ));
            }
            session.execute(
                INSERT,
                named_params! {
                    ":request_id": request_id, ":resource_uid": resource_uid,
                    ":request_key": request_key, ":input_fingerprint": input_fingerprint,
                    ":workflow": workflow,
                },
            )?;
            Ok((session.one(GET, key)?, true))
        })
    }

    /// Change a request.
    pub fn update_request(&self, request_id: &str, change: RequestChange<'_>) -> Result<Row> {
        self.write(|session| {
            let changed = session.changes(
                UPDATE,
                named_params! {
                    ":request_id": request_id, ":state": change.state,
                    ":set_run_id": change.run_id.is_some(), ":run_id": change.run_id.flatten(),
                    ":attempt": change.attempt,
                    ":set_error": change.error.is_some(), ":error": change.error.flatten(),
                },
            )?;
            if !changed {
                return Err(Error::refused(
                    "workflow_request_not_found",
                    [request_id.into()],
                ));
            }
            session.one(GET_BY_ID, named_params! { ":request_id": request_id })
        })
    }
}
