//! The feed of run events, and how far each session has read it.

use rusqlite::named_params;

use crate::connection::Store;
use crate::error::Result;
use crate::statements::{FEED, named};
use crate::time::iso;

const INSERT: &str = named(FEED, "insert");
const SET_WATERMARK: &str = named(FEED, "set_watermark");

impl Store {
    /// Append an event; its seq.
    pub fn record_run_event(
        &self,
        run_id: String,
        workflow_ref: String,
        kind: String,
        runner_id: Option<String>,
        payload_json: String,
        now: Option<i64>,
    ) -> Result<i64> {
        self.write(move |session| {
            session.execute(
                INSERT,
                named_params! {
                    ":recorded_at": iso(session.now(now)?), ":run_id": run_id,
                    ":workflow_ref": workflow_ref, ":type": kind, ":runner_id": runner_id,
                    ":payload_json": payload_json,
                },
            )?;
            Ok(session.connection.last_insert_rowid())
        })
    }

    /// Say that a session has read up to `seq`; it never moves back.
    pub fn set_watermark(&self, session_id: String, seq: i64, now: Option<i64>) -> Result<()> {
        self.write(move |session| {
            session.execute(
                SET_WATERMARK,
                named_params! {
                    ":session_id": session_id, ":seq": seq,
                    ":updated_at": iso(session.now(now)?),
                },
            )?;
            Ok(())
        })
    }
}
