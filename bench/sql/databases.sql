-- Rows for the databases that operations are measured on. Ids are scattered, so that
-- neighbours in claim order are no neighbours in the index of ids.

-- name: runs
WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :first + :count)
INSERT INTO workflow_run_queue (
  run_id, workflow_ref, workflow_path, input_json, status, runner_id, claim_token,
  claim_expires_at, affinity_runner_id, parent_run_id, created_at, updated_at
)
SELECT printf('run-%08x', (i * 2654435761) & 4294967295), 'workflow', 'workflow.py',
  '{"customer":17}', :status, CASE WHEN :status = 'claimed' THEN 'gone' END,
  CASE WHEN :status = 'claimed' THEN 'token-' || i END,
  CASE WHEN :status = 'claimed' THEN :expires_at END,
  :affinity || CASE WHEN :spread > 1 THEN '-' || (i % :spread) ELSE '' END, NULL,
  strftime('%Y-%m-%dT%H:%M:%fZ', 1577836800 + i / 1000.0, 'unixepoch'),
  strftime('%Y-%m-%dT%H:%M:%fZ', 1577836800 + i / 1000.0, 'unixepoch')
FROM n;

-- name: resources
WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :first + :count)
INSERT INTO resources (
  controller, resource_key, uid, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json, updated_at
)
SELECT :controller, printf('key-%08x', (i * 2654435761) & 4294967295), printf('uid-%08x', i), 1, 1,
  '{"size":3}', '{"conditions":[],"controllerStatus":null,"observedGeneration":0}', NULL, '[]',
  '2020-01-01T00:00:00.000Z'
FROM n;

-- name: queue
WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :first + :count)
INSERT INTO queue (
  controller, resource_key, available_at, version, consecutive_errors, last_error,
  claim_token, claim_version, claim_expires_at
)
SELECT :controller, printf('key-%08x', (i * 2654435761) & 4294967295), 1577836800000 + i, 1, 0, NULL,
  CASE WHEN :expires_at IS NOT NULL THEN 'token-' || i END,
  CASE WHEN :expires_at IS NOT NULL THEN 1 END, :expires_at
FROM n;

-- name: sorting_claim
UPDATE workflow_run_queue
SET status = 'claimed', runner_id = :runner_id, claim_token = 'token',
  claim_expires_at = :expires_at
WHERE run_id = (
  SELECT run_id FROM workflow_run_queue
  WHERE status = 'parked' OR (status = 'claimed' AND claim_expires_at <= :now)
  ORDER BY affinity_runner_id = :runner_id DESC, created_at, rowid
  LIMIT 1)
RETURNING run_id;

-- name: sorting_park
UPDATE workflow_run_queue
SET status = 'parked', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL
WHERE run_id = :run_id;

-- name: our_indexes
SELECT name FROM sqlite_schema
WHERE type = 'index' AND tbl_name = 'workflow_run_queue' AND name GLOB 'fencepost_*';
