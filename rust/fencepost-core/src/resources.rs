//! Resources: a desired state, an observed state, and the version that guards both.

use rusqlite::named_params;

use crate::connection::Store;
use crate::error::{Error, Result};
use crate::queue;
use crate::session::Session;
use crate::statements::{RESOURCES, named};
use crate::time::iso;
use crate::value::{Row, Value};

const GET: &str = named(RESOURCES, "get");
const GET_BY_UID: &str = named(RESOURCES, "get_by_uid");
const INSERT: &str = named(RESOURCES, "insert");
const SET_SPEC: &str = named(RESOURCES, "set_spec");
const SET_STATUS: &str = named(RESOURCES, "set_status");
const SET_FINALIZERS: &str = named(RESOURCES, "set_finalizers");
const SET_DELETION: &str = named(RESOURCES, "set_deletion");
const DELETE: &str = named(RESOURCES, "delete");

const NO_FINALIZERS: &str = "[]";

/// One row of `resources.get`, by name.
struct Resource {
    row: Row,
}

impl Resource {
    fn column(&self, index: usize) -> &Value {
        self.row.get(index).unwrap_or(&Value::Null)
    }

    fn version(&self) -> &Value {
        self.column(3)
    }

    fn spec(&self) -> &Value {
        self.column(5)
    }

    fn status(&self) -> &Value {
        self.column(6)
    }

    fn deletion_timestamp(&self) -> &Value {
        self.column(7)
    }

    fn finalizers(&self) -> &Value {
        self.column(8)
    }
}

impl Store {
    /// Insert (with `uid` and `status_json`), or replace another spec; then enqueue.
    pub fn put_resource(
        &self,
        controller: String,
        key: String,
        uid: String,
        spec_json: String,
        status_json: String,
        now: Option<i64>,
    ) -> Result<Row> {
        self.write(move |session| {
            let now = session.now(now)?;
            let updated_at = iso(now);
            match find(session, &controller, &key)? {
                None => {
                    session.execute(
                        INSERT,
                        named_params! {
                            ":controller": controller, ":key": key, ":uid": uid,
                            ":spec_json": spec_json, ":status_json": status_json,
                            ":updated_at": updated_at,
                        },
                    )?;
                }
                Some(existing) if existing.spec().as_text() == Some(spec_json.as_str()) => {
                    return Ok(existing.row);
                }
                Some(_) => {
                    session.execute(
                        SET_SPEC,
                        named_params! {
                            ":controller": controller, ":key": key,
                            ":spec_json": spec_json, ":updated_at": updated_at,
                        },
                    )?;
                }
            }
            queue::enqueue_row(session, &controller, &key, now)?;
            get(session, &controller, &key)
        })
    }

    /// Compare-and-swap of the status, and of the finalizers where given. The same values
    /// write nothing.
    pub fn update_status(
        &self,
        controller: String,
        key: String,
        expected_version: i64,
        status_json: String,
        finalizers_json: Option<String>,
        now: Option<i64>,
    ) -> Result<Row> {
        self.write(move |session| {
            let now = session.now(now)?;
            let current = expect(session, &controller, &key, expected_version)?;
            let finalizers = finalizers_json
                .as_deref()
                .map_or_else(|| current.finalizers().clone(), Value::from);
            if current.status().as_text() == Some(status_json.as_str())
                && *current.finalizers() == finalizers
            {
                return Ok(current.row);
            }
            session.execute(
                SET_STATUS,
                named_params! {
                    ":controller": controller, ":key": key, ":status_json": status_json,
                    ":finalizers_json": finalizers, ":updated_at": iso(now),
                },
            )?;
            get(session, &controller, &key)
        })
    }

    /// Set the deletion timestamp once; enqueue every time.
    pub fn request_deletion(
        &self,
        controller: String,
        key: String,
        now: Option<i64>,
    ) -> Result<Row> {
        self.write(move |session| {
            let now = session.now(now)?;
            if !exists(session, &controller, &key)? {
                return Err(not_found(&controller, &key));
            }
            session.execute(
                SET_DELETION,
                named_params! { ":controller": controller, ":key": key, ":updated_at": iso(now) },
            )?;
            queue::enqueue_row(session, &controller, &key, now)?;
            get(session, &controller, &key)
        })
    }

    /// Compare-and-swap of the finalizers, always a new version.
    pub fn update_finalizers(
        &self,
        controller: String,
        key: String,
        expected_version: i64,
        finalizers_json: String,
        now: Option<i64>,
    ) -> Result<Row> {
        self.write(move |session| {
            let now = session.now(now)?;
            expect(session, &controller, &key, expected_version)?;
            session.execute(
                SET_FINALIZERS,
                named_params! {
                    ":controller": controller, ":key": key,
                    ":finalizers_json": finalizers_json, ":updated_at": iso(now),
                },
            )?;
            get(session, &controller, &key)
        })
    }

    /// Delete a resource whose deletion was requested and that has no finalizers left.
    pub fn delete_resource(
        &self,
        controller: String,
        key: String,
        expected_version: i64,
    ) -> Result<bool> {
        self.write(move |session| {
            let Some(current) = find(session, &controller, &key)? else {
                return Ok(false);
            };
            if *current.deletion_timestamp() == Value::Null
                || current.finalizers().as_text() != Some(NO_FINALIZERS)
            {
                return Err(Error::refused(
                    "not_ready_for_deletion",
                    [controller.as_str().into(), key.as_str().into()],
                ));
            }
            check_version(&current, &controller, &key, expected_version)?;
            session.changes(
                DELETE,
                named_params! { ":controller": controller, ":key": key },
            )
        })
    }
}

/// Whether the resource is there.
pub(crate) fn exists(session: &Session<'_>, controller: &str, key: &str) -> Result<bool> {
    session.exists(
        GET,
        named_params! { ":controller": controller, ":key": key },
    )
}

/// The refusal of a uid that no resource has.
pub(crate) fn require_uid(session: &Session<'_>, uid: &str) -> Result<()> {
    if session.exists(GET_BY_UID, named_params! { ":uid": uid })? {
        Ok(())
    } else {
        Err(Error::refused("unknown_resource", [uid.into()]))
    }
}

fn not_found(controller: &str, key: &str) -> Error {
    Error::refused("resource_not_found", [controller.into(), key.into()])
}

fn find(session: &Session<'_>, controller: &str, key: &str) -> Result<Option<Resource>> {
    let row = session.first(
        GET,
        named_params! { ":controller": controller, ":key": key },
    )?;
    Ok(row.map(|row| Resource { row }))
}

fn get(session: &Session<'_>, controller: &str, key: &str) -> Result<Row> {
    session.one(
        GET,
        named_params! { ":controller": controller, ":key": key },
    )
}

/// The resource in the expected version.
fn expect(
    session: &Session<'_>,
    controller: &str,
    key: &str,
    expected_version: i64,
) -> Result<Resource> {
    let current = find(session, controller, key)?.ok_or_else(|| not_found(controller, key))?;
    check_version(&current, controller, key, expected_version)?;
    Ok(current)
}

fn check_version(
    current: &Resource,
    controller: &str,
    key: &str,
    expected_version: i64,
) -> Result<()> {
    if *current.version() == Value::Integer(expected_version) {
        return Ok(());
    }
    Err(Error::refused(
        "resource_conflict",
        [
            controller.into(),
            key.into(),
            expected_version.into(),
            current.version().clone(),
        ],
    ))
}
