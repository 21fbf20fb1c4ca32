//! Effects: what is written down before an outside system is called.

use rusqlite::named_params;

use crate::connection::Store;
use crate::error::{Error, Result};
use crate::resources;
use crate::session::Session;
use crate::statements::{EFFECTS, named};
use crate::time::iso;
use crate::value::{Row, Value};

const GET: &str = named(EFFECTS, "get");
const INSERT: &str = named(EFFECTS, "insert");
const UPDATE: &str = named(EFFECTS, "update");

const FINAL_STATES: [&str; 2] = ["applied", "rejected"];

impl Store {
    /// The record under the key, and whether it is new.
    pub fn reserve_effect(
        &self,
        key: String,
        resource_uid: String,
        generation: i64,
        kind: String,
        request_fingerprint: String,
        now: Option<i64>,
    ) -> Result<(Row, bool)> {
        self.write(move |session| {
            let now = session.now(now)?;
            resources::require_uid(session, &resource_uid)?;
            if let Some(row) = find(session, &resource_uid, &key)? {
                let same = matches!(
                    row.as_slice(),
                    [_, _, Value::Integer(its_generation), Value::Text(its_kind), _,
                        Value::Text(its_fingerprint), ..]
                    if *its_generation == generation
                        && *its_kind == kind
                        && *its_fingerprint == request_fingerprint
                );
                if same {
                    return Ok((row, false));
                }
                return Err(Error::refused(
                    "effect_conflict",
                    [resource_uid.as_str().into(), key.as_str().into()],
                ));
            }
            session.execute(
                INSERT,
                named_params! {
                    ":key": key, ":resource_uid": resource_uid, ":generation": generation,
                    ":kind": kind, ":request_fingerprint": request_fingerprint,
                    ":started_at": iso(now),
                },
            )?;
            Ok((get(session, &resource_uid, &key)?, true))
        })
    }

    /// Move an effect to a state. A final state never changes.
    pub fn update_effect(
        &self,
        resource_uid: String,
        key: String,
        state: String,
        external_ref: Option<String>,
        error: Option<String>,
        now: Option<i64>,
    ) -> Result<Row> {
        self.write(move |session| {
            let now = session.now(now)?;
            let current = find(session, &resource_uid, &key)?.ok_or_else(|| {
                Error::refused(
                    "effect_not_found",
                    [resource_uid.as_str().into(), key.as_str().into()],
                )
            })?;
            let current_state = current.get(4).and_then(Value::as_text).unwrap_or_default();
            if FINAL_STATES.contains(&current_state) && current_state != state {
                return Err(Error::refused(
                    "effect_terminal",
                    [
                        resource_uid.as_str().into(),
                        key.as_str().into(),
                        current_state.into(),
                    ],
                ));
            }
            let completed_at = FINAL_STATES.contains(&state.as_str()).then(|| iso(now));
            session.execute(
                UPDATE,
                named_params! {
                    ":resource_uid": resource_uid, ":key": key, ":state": state,
                    ":external_ref": external_ref, ":error": error,
                    ":completed_at": completed_at,
                },
            )?;
            get(session, &resource_uid, &key)
        })
    }
}

fn find(session: &Session<'_>, resource_uid: &str, key: &str) -> Result<Option<Row>> {
    session.first(
        GET,
        named_params! { ":resource_uid": resource_uid, ":key": key },
    )
}

fn get(session: &Session<'_>, resource_uid: &str, key: &str) -> Result<Row> {
    session.one(
        GET,
        named_params! { ":resource_uid": resource_uid, ":key": key },
    )
}
