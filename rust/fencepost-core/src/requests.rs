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
#[derive(Clone, Debug)]
pub struct RequestChange {
    /// The new state.
    pub state: String,
    /// The run that serves the request.
    pub run_id: Option<Option<String>>,
    /// How often the request was tried.
    pub attempt: Option<i64>,
    /// What went wrong.
    pub error: Option<Option<String>>,
}

impl Store {
    /// The record under the key, and whether it is new.
    pub fn reserve_request(
        &self,
        resource_uid: String,
        request_key: String,
        workflow: String,
        input_fingerprint: String,
        request_id: String,
    ) -> Result<(Row, bool)> {
        self.write(move |session| {
            resources::require_uid(session, &resource_uid)?;
            let key = named_params! { ":resource_uid": resource_uid, ":request_key": request_key };
            if let Some(row) = session.first(GET, key)? {
                let same = matches!(
                    row.as_slice(),
                    [_, _, _, Value::Text(its_fingerprint), Value::Text(its_workflow), ..]
                    if *its_fingerprint == input_fingerprint && *its_workflow == workflow
                );
                if same {
                    return Ok((row, false));
                }
                return Err(Error::refused(
                    "workflow_conflict",
                    [resource_uid.as_str().into(), request_key.as_str().into()],
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
    pub fn update_request(&self, request_id: String, change: RequestChange) -> Result<Row> {
        self.write(move |session| {
            let changed = session.changes(
                UPDATE,
                named_params! {
                    ":request_id": request_id, ":state": change.state,
                    ":set_run_id": change.run_id.is_some(), ":run_id": change.run_id.as_ref().and_then(Option::as_ref),
                    ":attempt": change.attempt,
                    ":set_error": change.error.is_some(), ":error": change.error.as_ref().and_then(Option::as_ref),
                },
            )?;
            if !changed {
                return Err(Error::refused(
                    "workflow_request_not_found",
                    [request_id.as_str().into()],
                ));
            }
            session.one(GET_BY_ID, named_params! { ":request_id": request_id })
        })
    }
}
