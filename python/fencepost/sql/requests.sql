-- name: get
SELECT request_id, resource_uid, request_key, input_fingerprint, workflow, run_id, state,
  attempt, error
FROM workflow_requests
WHERE resource_uid = :resource_uid AND request_key = :request_key;

-- name: get_by_id
SELECT request_id, resource_uid, request_key, input_fingerprint, workflow, run_id, state,
  attempt, error
FROM workflow_requests
WHERE request_id = :request_id;

-- name: list
-- The last column is the place in the listing.
SELECT request_id, resource_uid, request_key, input_fingerprint, workflow, run_id, state,
  attempt, error, rowid
FROM workflow_requests INDEXED BY fencepost_requests_resource
WHERE resource_uid = :resource_uid AND rowid > :after_rowid
ORDER BY rowid
LIMIT :limit;

-- name: insert
INSERT INTO workflow_requests (
  request_id, resource_uid, request_key, input_fingerprint, workflow, state, attempt
)
VALUES (:request_id, :resource_uid, :request_key, :input_fingerprint, :workflow, 'pending', 0);

-- name: update
-- An absent member keeps its value; run_id and error can also be cleared.
UPDATE workflow_requests
SET state = :state,
  run_id = CASE WHEN :set_run_id THEN :run_id ELSE run_id END,
  attempt = coalesce(:attempt, attempt),
  error = CASE WHEN :set_error THEN :error ELSE error END
WHERE request_id = :request_id;
