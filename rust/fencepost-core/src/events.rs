//! Events of controllers.

use rusqlite::named_params;

use crate::connection::Store;
use crate::error::Result;
use crate::statements::{EVENTS, named};
use crate::time::iso;
use crate::value::Row;

const GET: &str = named(EVENTS, "get");
const INSERT: &str = named(EVENTS, "insert");

impl Store {
    /// Append an event.
    pub fn record_event(
        &self,
        controller: String,
        key: String,
        kind: String,
        payload_json: String,
        now: Option<i64>,
    ) -> Result<Row> {
        self.write(move |session| {
            session.execute(
                INSERT,
                named_params! {
                    ":recorded_at": iso(session.now(now)?), ":controller": controller,
                    ":key": key, ":type": kind, ":payload_json": payload_json,
                },
            )?;
            let seq = session.connection.last_insert_rowid();
            session.one(GET, named_params! { ":seq": seq })
        })
    }
}
