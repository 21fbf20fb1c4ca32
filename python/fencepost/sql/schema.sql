-- The tables of the shared file format (schema pi-workflows.controller-store.v1).
-- Names, types and constraints are fixed: another store reads and writes them too.

CREATE TABLE IF NOT EXISTS schema_info (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  schema_id TEXT NOT NULL
);
INSERT OR IGNORE INTO schema_info (singleton, schema_id)
VALUES (1, 'pi-workflows.controller-store.v1');

CREATE TABLE IF NOT EXISTS resources (
  controller TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  uid TEXT NOT NULL UNIQUE,
  resource_version INTEGER NOT NULL CHECK (resource_version > 0),
  generation INTEGER NOT NULL CHECK (generation > 0),
  spec_json TEXT NOT NULL,
  status_json TEXT NOT NULL,
  deletion_timestamp TEXT,
  finalizers_json TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (controller, resource_key)
);

CREATE TABLE IF NOT EXISTS queue (
  controller TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  available_at INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  consecutive_errors INTEGER NOT NULL CHECK (consecutive_errors >= 0),
  last_error TEXT,
  claim_token TEXT,
  claim_version INTEGER,
  claim_expires_at INTEGER,
  PRIMARY KEY (controller, resource_key),
  FOREIGN KEY (controller, resource_key)
    REFERENCES resources (controller, resource_key) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS queue_ready ON queue (available_at, controller, resource_key);

CREATE TABLE IF NOT EXISTS workflow_run_queue (
  run_id TEXT PRIMARY KEY,
  workflow_ref TEXT NOT NULL,
  workflow_path TEXT NOT NULL,
  input_json TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('claimed', 'parked', 'done')),
  runner_id TEXT,
  claim_token TEXT,
  claim_expires_at INTEGER,
  affinity_runner_id TEXT,
  parent_run_id TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS workflow_run_queue_claimable
  ON workflow_run_queue (status, claim_expires_at);
CREATE UNIQUE INDEX IF NOT EXISTS workflow_run_queue_parent
  ON workflow_run_queue (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS run_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  recorded_at TEXT NOT NULL,
  run_id TEXT NOT NULL,
  workflow_ref TEXT NOT NULL,
  type TEXT NOT NULL,
  runner_id TEXT,
  payload_json TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS run_events_run ON run_events (run_id);

CREATE TABLE IF NOT EXISTS session_watermarks (
  session_id TEXT PRIMARY KEY,
  last_event_seq INTEGER NOT NULL CHECK (last_event_seq >= 0),
  updated_at TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS effects (
  effect_key TEXT NOT NULL,
  resource_uid TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation > 0),
  kind TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'applied', 'rejected', 'indeterminate')),
  request_fingerprint TEXT NOT NULL,
  started_at TEXT NOT NULL,
  completed_at TEXT,
  external_ref TEXT,
  error TEXT,
  PRIMARY KEY (resource_uid, effect_key),
  FOREIGN KEY (resource_uid) REFERENCES resources (uid) ON DELETE CASCADE
);

CREATE TABLE IF NOT EXISTS workflow_requests (
  request_id TEXT PRIMARY KEY,
  resource_uid TEXT NOT NULL,
  request_key TEXT NOT NULL,
  input_fingerprint TEXT NOT NULL,
  workflow TEXT NOT NULL,
  run_id TEXT,
  state TEXT NOT NULL CHECK (
    state IN ('pending', 'running', 'waiting', 'succeeded', 'failed', 'interrupted')
  ),
  attempt INTEGER NOT NULL CHECK (attempt >= 0),
  error TEXT,
  UNIQUE (resource_uid, request_key),
  FOREIGN KEY (resource_uid) REFERENCES resources (uid) ON DELETE CASCADE
);

CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  recorded_at TEXT NOT NULL,
  controller TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  type TEXT NOT NULL,
  payload_json TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_resource ON events (controller, resource_key, seq DESC);
