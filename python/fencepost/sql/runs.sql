-- name: get
SELECT r.run_id, r.workflow_ref, r.workflow_path, r.input_json, r.status, r.runner_id,
  r.claim_token, r.claim_expires_at, r.affinity_runner_id, r.parent_run_id, r.created_at,
  r.updated_at, f.fence
FROM workflow_run_queue AS r LEFT JOIN fencepost_run_fences AS f ON f.run_id = r.run_id
WHERE r.run_id = :run_id;

-- name: get_many
-- By their places in the table, in the order of the list `:places`.
SELECT r.run_id, r.workflow_ref, r.workflow_path, r.input_json, r.status, r.runner_id,
  r.claim_token, r.claim_expires_at, r.affinity_runner_id, r.parent_run_id, r.created_at,
  r.updated_at, f.fence
FROM json_each(:places) AS c
  CROSS JOIN workflow_run_queue AS r ON r.rowid = c.value
  LEFT JOIN fencepost_run_fences AS f ON f.run_id = r.run_id;

-- name: list
-- The last column and created_at are the place in the listing.
SELECT r.run_id, r.workflow_ref, r.workflow_path, r.input_json, r.status, r.runner_id,
  r.claim_token, r.claim_expires_at, r.affinity_runner_id, r.parent_run_id, r.created_at,
  r.updated_at, f.fence, r.rowid
FROM workflow_run_queue AS r INDEXED BY fencepost_runs_created
  LEFT JOIN fencepost_run_fences AS f ON f.run_id = r.run_id
WHERE (r.created_at, r.rowid) > (:after_created_at, :after_rowid)
ORDER BY r.created_at, r.rowid
LIMIT :limit;

-- name: list_by_status
SELECT r.run_id, r.workflow_ref, r.workflow_path, r.input_json, r.status, r.runner_id,
  r.claim_token, r.claim_expires_at, r.affinity_runner_id, r.parent_run_id, r.created_at,
  r.updated_at, f.fence, r.rowid
FROM workflow_run_queue AS r INDEXED BY fencepost_runs_status
  LEFT JOIN fencepost_run_fences AS f ON f.run_id = r.run_id
WHERE r.status = :status AND (r.created_at, r.rowid) > (:after_created_at, :after_rowid)
ORDER BY r.created_at, r.rowid
LIMIT :limit;

-- name: continuation
SELECT run_id FROM workflow_run_queue WHERE parent_run_id = :parent_run_id;

-- name: insert
-- Changes nothing where there is a run of this id.
INSERT INTO workflow_run_queue (
  run_id, workflow_ref, workflow_path, input_json, status, runner_id, claim_token,
  claim_expires_at, affinity_runner_id, parent_run_id, created_at, updated_at
)
VALUES (
  :run_id, :workflow_name, :workflow_source_ref, :input_json, 'claimed', :runner_id,
  :claim_token, :claim_expires_at, :affinity_runner_id, :parent_run_id, :created_at, :created_at
)
ON CONFLICT (run_id) DO NOTHING;

-- name: insert_twenty
-- All of them, or none.
INSERT INTO workflow_run_queue (
  run_id, workflow_ref, workflow_path, input_json, status, runner_id, claim_token,
  claim_expires_at, affinity_runner_id, parent_run_id, created_at, updated_at
)
VALUES
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?),
  (?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?);

-- name: fence
SELECT fence FROM fencepost_run_fences WHERE run_id = :run_id;

-- name: parked
-- Parked runs in claim order; the engine takes the first that is not excluded.
-- The index is named because the planner would prefer the one on the expiry, and
-- then sort every parked run for each claim.
SELECT run_id, created_at, rowid
FROM workflow_run_queue INDEXED BY fencepost_runs_status
WHERE status = 'parked'
ORDER BY created_at, rowid;

-- name: parked_affine
SELECT run_id, created_at, rowid
FROM workflow_run_queue INDEXED BY fencepost_runs_affinity
WHERE affinity_runner_id = :runner_id AND status = 'parked' AND status <> 'done'
ORDER BY created_at, rowid;

-- name: expired_some
-- A few expired claims in the order of their expiry: when there are no more than
-- these (the usual case is none), the engine picks the first of them itself and
-- never walks over the claims that are alive.
SELECT run_id, created_at, rowid, affinity_runner_id
FROM workflow_run_queue INDEXED BY workflow_run_queue_claimable
WHERE status = 'claimed' AND claim_expires_at <= :now
LIMIT :limit;

-- name: expired
-- Expired claims in claim order, for when many have expired at once.
SELECT run_id, created_at, rowid
FROM workflow_run_queue INDEXED BY fencepost_runs_status
WHERE status = 'claimed' AND claim_expires_at <= :now
ORDER BY created_at, rowid;

-- name: expired_affine
SELECT run_id, created_at, rowid
FROM workflow_run_queue INDEXED BY fencepost_runs_affinity
WHERE affinity_runner_id = :runner_id AND status = 'claimed' AND status <> 'done'
  AND claim_expires_at <= :now
ORDER BY created_at, rowid;

-- name: claim
UPDATE workflow_run_queue
SET status = 'claimed', runner_id = :runner_id, claim_token = :claim_token,
  claim_expires_at = :claim_expires_at, updated_at = :updated_at
WHERE run_id = :run_id
  AND (status = 'parked' OR (status = 'claimed' AND claim_expires_at <= :now));

-- name: claim_many
-- `:claims` is an object, the token of each row under its place in the table. The rows are
-- claimed, and get their fences, in the order of these places. The column of the status has
-- a plus lest the planner look for the rows through it.
UPDATE workflow_run_queue
SET status = 'claimed', runner_id = :runner_id, claim_token = c.value,
  claim_expires_at = :claim_expires_at, updated_at = :updated_at
FROM json_each(:claims) AS c
WHERE workflow_run_queue.rowid = CAST(c.key AS INTEGER)
  AND (+status = 'parked' OR (+status = 'claimed' AND claim_expires_at <= :now));

-- name: renew
UPDATE workflow_run_queue
SET claim_expires_at = :claim_expires_at
WHERE run_id = :run_id AND claim_token = :claim_token AND status = 'claimed'
  AND claim_expires_at > :now;

-- name: verify
SELECT 1
FROM workflow_run_queue
WHERE run_id = :run_id AND claim_token = :claim_token AND status = 'claimed'
  AND claim_expires_at > :now;

-- name: park
UPDATE workflow_run_queue
SET status = 'parked', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL,
  updated_at = :updated_at
WHERE run_id = :run_id AND claim_token = :claim_token AND status = 'claimed';

-- name: park_stuck
-- Claimed without a token: nobody could ever end or take over this claim.
UPDATE workflow_run_queue
SET status = 'parked', runner_id = NULL, claim_expires_at = NULL, updated_at = :updated_at
WHERE run_id = :run_id AND claim_token IS NULL AND status = 'claimed';

-- name: complete
UPDATE workflow_run_queue
SET status = 'done', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL,
  updated_at = :updated_at
WHERE run_id = :run_id AND claim_token = :claim_token AND status = 'claimed';

-- name: delete
DELETE FROM workflow_run_queue
WHERE run_id = :run_id AND claim_token = :claim_token;

-- name: parked_with_source
SELECT 1
FROM workflow_run_queue
WHERE run_id = :run_id AND status = 'parked' AND workflow_path = :workflow_source_ref;

-- name: repair_source
-- Claimable for a repair: parked, expired, or live under this very token.
UPDATE workflow_run_queue
SET workflow_ref = :workflow_name, workflow_path = :workflow_source_ref, status = 'claimed',
  runner_id = :runner_id, claim_token = :claim_token, claim_expires_at = :claim_expires_at,
  updated_at = :updated_at
WHERE run_id = :run_id
  AND (status = 'parked' OR (status = 'claimed'
    AND (claim_expires_at <= :now OR (claim_expires_at > :now AND claim_token = :claim_token))));

-- name: claim_legacy_source
UPDATE workflow_run_queue
SET workflow_ref = :workflow_name, workflow_path = :workflow_source_ref, status = 'claimed',
  runner_id = :runner_id, claim_token = :claim_token, claim_expires_at = :claim_expires_at,
  updated_at = :updated_at
WHERE run_id = :run_id AND workflow_path IN (:old_workflow_path, :workflow_source_ref)
  AND (status = 'parked' OR (status = 'claimed'
    AND (claim_expires_at <= :now OR (claim_expires_at > :now AND claim_token = :claim_token))));

-- name: some_parked
SELECT run_id
FROM workflow_run_queue INDEXED BY fencepost_runs_status
WHERE status = 'parked'
ORDER BY created_at, rowid
LIMIT :limit;

-- name: next_expiries
SELECT run_id, claim_expires_at
FROM workflow_run_queue INDEXED BY workflow_run_queue_claimable
WHERE status = 'claimed' AND claim_expires_at IS NOT NULL
ORDER BY claim_expires_at
LIMIT :limit;
