//! The native engine of fencepost: operations on validated primitives, each one
//! transaction over one SQLite file.
//!
//! The Python engine is the reference; an operation has the same name here, there and
//! in the SQL. Nothing of Python is in this crate, and no SQL text: the statements are
//! those of `python/fencepost/sql`, included at compile time.

mod backup;
mod checkpoints;
mod clock;
mod connection;
mod desk;
mod effects;
mod error;
mod events;
mod feed;
mod file;
mod group_commit;
pub mod json;
mod open;
mod patience;
mod queue;
#[cfg(unix)]
mod rendezvous;
#[cfg(not(unix))]
#[path = "rendezvous_none.rs"]
mod rendezvous;
mod requests;
mod resources;
mod runs;
mod session;
pub mod statements;
mod time;
mod transaction;
mod turns;
mod value;

pub use clock::{CallerError, Clock, SystemClock};
pub use connection::{Store, sqlite_version};
pub use error::{Error, Refusal, Result};
pub use open::{Options, Synchronous};
pub use queue::{Claim, Enqueued};
pub use requests::RequestChange;
pub use runs::{NewRun, RunClaim, Source, SourceClaim};
pub use time::{MAX_TIME_MS, MIN_TIME_MS, iso};
pub use value::{Row, Value};
