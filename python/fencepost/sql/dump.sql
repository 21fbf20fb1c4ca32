-- Every shared table as it stands, rows in insertion order; whole, page by page, and back.

-- name: schema_info
SELECT singleton, schema_id FROM schema_info ORDER BY rowid;

-- name: resources
SELECT controller, resource_key, uid, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json, updated_at
FROM resources ORDER BY rowid;

-- name: queue
SELECT controller, resource_key, available_at, version, consecutive_errors, last_error,
  claim_token, claim_version, claim_expires_at
FROM queue ORDER BY rowid;

-- name: workflow_run_queue
SELECT run_id, workflow_ref, workflow_path, input_json, status, runner_id, claim_token,
  claim_expires_at, affinity_runner_id, parent_run_id, created_at, updated_at
FROM workflow_run_queue ORDER BY rowid;

-- name: run_events
SELECT seq, recorded_at, run_id, workflow_ref, type, runner_id, payload_json
FROM run_events ORDER BY seq;

-- name: session_watermarks
SELECT session_id, last_event_seq, updated_at FROM session_watermarks ORDER BY rowid;

-- name: effects
SELECT effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at,
  completed_at, external_ref, error
FROM effects ORDER BY rowid;

-- name: workflow_requests
SELECT request_id, resource_uid, request_key, input_fingerprint, workflow, run_id, state,
  attempt, error
FROM workflow_requests ORDER BY rowid;

-- name: events
SELECT seq, recorded_at, controller, resource_key, type, payload_json
FROM events ORDER BY seq;

-- name: page_resources
SELECT rowid, controller, resource_key, uid, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json, updated_at
FROM resources
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: page_queue
SELECT rowid, controller, resource_key, available_at, version, consecutive_errors, last_error,
  claim_token, claim_version, claim_expires_at
FROM queue
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: page_workflow_run_queue
SELECT rowid, run_id, workflow_ref, workflow_path, input_json, status, runner_id, claim_token,
  claim_expires_at, affinity_runner_id, parent_run_id, created_at, updated_at
FROM workflow_run_queue
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: page_run_events
SELECT rowid, seq, recorded_at, run_id, workflow_ref, type, runner_id, payload_json
FROM run_events
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: page_session_watermarks
SELECT rowid, session_id, last_event_seq, updated_at
FROM session_watermarks
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: page_effects
SELECT rowid, effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at,
  completed_at, external_ref, error
FROM effects
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: page_workflow_requests
SELECT rowid, request_id, resource_uid, request_key, input_fingerprint, workflow, run_id, state,
  attempt, error
FROM workflow_requests
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: page_events
SELECT rowid, seq, recorded_at, controller, resource_key, type, payload_json
FROM events
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- name: counters
-- What must not restart in a copy: the fences, and the sequence numbers of both feeds.
SELECT (SELECT last FROM fencepost_fence),
  coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0),
  coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'run_events'), 0);

-- name: some_row
-- The first table that holds a row; none where the store is empty.
SELECT 'resources' WHERE EXISTS (SELECT 1 FROM resources)
UNION ALL SELECT 'queue' WHERE EXISTS (SELECT 1 FROM queue)
UNION ALL SELECT 'workflow_run_queue' WHERE EXISTS (SELECT 1 FROM workflow_run_queue)
UNION ALL SELECT 'run_events' WHERE EXISTS (SELECT 1 FROM run_events)
UNION ALL SELECT 'session_watermarks' WHERE EXISTS (SELECT 1 FROM session_watermarks)
UNION ALL SELECT 'effects' WHERE EXISTS (SELECT 1 FROM effects)
UNION ALL SELECT 'workflow_requests' WHERE EXISTS (SELECT 1 FROM workflow_requests)
UNION ALL SELECT 'events' WHERE EXISTS (SELECT 1 FROM events);

-- name: import_table
-- An import waits in a table of its own, so that one statement can move all of it.
CREATE TABLE fencepost_import (
  line INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  row_json TEXT NOT NULL
);

-- name: import_index
CREATE INDEX fencepost_import_kind ON fencepost_import (kind, line);

-- name: import_lines
-- `:lines` is a JSON list of [line, table, row as JSON text].
INSERT INTO fencepost_import (line, kind, row_json)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
FROM json_each(:lines);

-- name: import_move
-- Moves everything, or nothing: a trigger belongs to the statement that fires it.
CREATE TRIGGER fencepost_import_move
AFTER UPDATE ON fencepost_import WHEN NEW.kind = 'end'
BEGIN
  SELECT raise(ABORT, 'the store is not empty')
  WHERE EXISTS (SELECT 1 FROM resources)
    OR EXISTS (SELECT 1 FROM queue)
    OR EXISTS (SELECT 1 FROM workflow_run_queue)
    OR EXISTS (SELECT 1 FROM run_events)
    OR EXISTS (SELECT 1 FROM session_watermarks)
    OR EXISTS (SELECT 1 FROM effects)
    OR EXISTS (SELECT 1 FROM workflow_requests)
    OR EXISTS (SELECT 1 FROM events);
  UPDATE fencepost_fence SET last = max(last, json_extract(NEW.row_json, '$.fence'));
  INSERT INTO resources (controller, resource_key, uid, resource_version, generation, spec_json,
    status_json, deletion_timestamp, finalizers_json, updated_at)
  SELECT json_extract(row_json, '$.controller'), json_extract(row_json, '$.resource_key'),
    json_extract(row_json, '$.uid'), json_extract(row_json, '$.resource_version'),
    json_extract(row_json, '$.generation'), json_extract(row_json, '$.spec_json'),
    json_extract(row_json, '$.status_json'), json_extract(row_json, '$.deletion_timestamp'),
    json_extract(row_json, '$.finalizers_json'), json_extract(row_json, '$.updated_at')
  FROM fencepost_import WHERE kind = 'resources' ORDER BY line;
  INSERT INTO queue (controller, resource_key, available_at, version, consecutive_errors,
    last_error, claim_token, claim_version, claim_expires_at)
  SELECT json_extract(row_json, '$.controller'), json_extract(row_json, '$.resource_key'),
    json_extract(row_json, '$.available_at'), json_extract(row_json, '$.version'),
    json_extract(row_json, '$.consecutive_errors'), json_extract(row_json, '$.last_error'),
    json_extract(row_json, '$.claim_token'), json_extract(row_json, '$.claim_version'),
    json_extract(row_json, '$.claim_expires_at')
  FROM fencepost_import WHERE kind = 'queue' ORDER BY line;
  INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, input_json, status,
    runner_id, claim_token, claim_expires_at, affinity_runner_id, parent_run_id, created_at,
    updated_at)
  SELECT json_extract(row_json, '$.run_id'), json_extract(row_json, '$.workflow_ref'),
    json_extract(row_json, '$.workflow_path'), json_extract(row_json, '$.input_json'),
    json_extract(row_json, '$.status'), json_extract(row_json, '$.runner_id'),
    json_extract(row_json, '$.claim_token'), json_extract(row_json, '$.claim_expires_at'),
    json_extract(row_json, '$.affinity_runner_id'), json_extract(row_json, '$.parent_run_id'),
    json_extract(row_json, '$.created_at'), json_extract(row_json, '$.updated_at')
  FROM fencepost_import WHERE kind = 'workflow_run_queue' ORDER BY line;
  INSERT INTO run_events (seq, recorded_at, run_id, workflow_ref, type, runner_id, payload_json)
  SELECT json_extract(row_json, '$.seq'), json_extract(row_json, '$.recorded_at'),
    json_extract(row_json, '$.run_id'), json_extract(row_json, '$.workflow_ref'),
    json_extract(row_json, '$.type'), json_extract(row_json, '$.runner_id'),
    json_extract(row_json, '$.payload_json')
  FROM fencepost_import WHERE kind = 'run_events' ORDER BY line;
  INSERT INTO session_watermarks (session_id, last_event_seq, updated_at)
  SELECT json_extract(row_json, '$.session_id'), json_extract(row_json, '$.last_event_seq'),
    json_extract(row_json, '$.updated_at')
  FROM fencepost_import WHERE kind = 'session_watermarks' ORDER BY line;
  INSERT INTO effects (effect_key, resource_uid, generation, kind, state, request_fingerprint,
    started_at, completed_at, external_ref, error)
  SELECT json_extract(row_json, '$.effect_key'), json_extract(row_json, '$.resource_uid'),
    json_extract(row_json, '$.generation'), json_extract(row_json, '$.kind'),
    json_extract(row_json, '$.state'), json_extract(row_json, '$.request_fingerprint'),
    json_extract(row_json, '$.started_at'), json_extract(row_json, '$.completed_at'),
    json_extract(row_json, '$.external_ref'), json_extract(row_json, '$.error')
  FROM fencepost_import WHERE kind = 'effects' ORDER BY line;
  INSERT INTO workflow_requests (request_id, resource_uid, request_key, input_fingerprint,
    workflow, run_id, state, attempt, error)
  SELECT json_extract(row_json, '$.request_id'), json_extract(row_json, '$.resource_uid'),
    json_extract(row_json, '$.request_key'), json_extract(row_json, '$.input_fingerprint'),
    json_extract(row_json, '$.workflow'), json_extract(row_json, '$.run_id'),
    json_extract(row_json, '$.state'), json_extract(row_json, '$.attempt'),
    json_extract(row_json, '$.error')
  FROM fencepost_import WHERE kind = 'workflow_requests' ORDER BY line;
  INSERT INTO events (seq, recorded_at, controller, resource_key, type, payload_json)
  SELECT json_extract(row_json, '$.seq'), json_extract(row_json, '$.recorded_at'),
    json_extract(row_json, '$.controller'), json_extract(row_json, '$.resource_key'),
    json_extract(row_json, '$.type'), json_extract(row_json, '$.payload_json')
  FROM fencepost_import WHERE kind = 'events' ORDER BY line;
  INSERT INTO fencepost_queue_fences (controller, resource_key, fence)
  SELECT controller, resource_key,
    (SELECT last FROM fencepost_fence) + row_number() OVER (ORDER BY rowid)
  FROM queue WHERE claim_token IS NOT NULL;
  UPDATE fencepost_fence
  SET last = max(last, (SELECT coalesce(max(fence), 0) FROM fencepost_queue_fences));
  INSERT INTO sqlite_sequence (name, seq)
  SELECT key, 0 FROM json_each(NEW.row_json, '$.last_seq')
  WHERE key NOT IN (SELECT name FROM sqlite_sequence);
  UPDATE sqlite_sequence
  SET seq = max(seq, (SELECT value FROM json_each(NEW.row_json, '$.last_seq') WHERE key = name))
  WHERE name IN ('events', 'run_events');
END;

-- name: import_end
UPDATE fencepost_import SET kind = 'end' WHERE kind = 'header';

-- name: import_drop
-- With its index and its trigger; also what an import that was killed left behind.
DROP TABLE IF EXISTS fencepost_import;
