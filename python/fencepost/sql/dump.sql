-- Every shared table as it stands, rows in insertion order.

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
