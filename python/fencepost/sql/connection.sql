-- Statements that belong to a connection rather than to a table.

-- name: begin
-- IMMEDIATE, always: a deferred transaction that reads and then writes fails
-- with BUSY_SNAPSHOT as soon as another process committed in between.
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: use_wal
PRAGMA journal_mode = WAL;

-- name: journal_mode
PRAGMA journal_mode;

-- name: foreign_keys_on
PRAGMA foreign_keys = ON;

-- name: synchronous_full
PRAGMA synchronous = FULL;

-- name: synchronous_normal
PRAGMA synchronous = NORMAL;

-- name: synchronous_off
PRAGMA synchronous = OFF;

-- name: query_only
PRAGMA query_only = ON;

-- name: has_json
-- Fails where SQLite was built without its JSON functions.
SELECT json('[]');

-- name: savepoint
-- One job of a shared transaction: its failure must not undo the others.
SAVEPOINT fencepost_job;

-- name: release
RELEASE fencepost_job;

-- name: rollback_to
ROLLBACK TO fencepost_job;

-- name: checkpoint_passive
PRAGMA wal_checkpoint (PASSIVE);

-- name: checkpoint_full
PRAGMA wal_checkpoint (FULL);

-- name: checkpoint_restart
PRAGMA wal_checkpoint (RESTART);

-- name: checkpoint_truncate
PRAGMA wal_checkpoint (TRUNCATE);

-- name: integrity
PRAGMA integrity_check;

-- name: foreign_keys
PRAGMA foreign_key_check;

-- name: read_snapshot
-- A read that holds its snapshot: the backup's steps all see the same commit.
BEGIN;

-- name: own_checkpoints
-- See engine/python/checkpoints.py.
PRAGMA wal_autocheckpoint = 0;
