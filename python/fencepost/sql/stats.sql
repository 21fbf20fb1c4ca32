-- How much of what a file holds.

-- name: runs
SELECT status, count(*) FROM workflow_run_queue INDEXED BY fencepost_runs_status GROUP BY status;

-- name: expired_runs
SELECT count(*)
FROM workflow_run_queue INDEXED BY workflow_run_queue_claimable
WHERE status = 'claimed' AND claim_expires_at <= :now;

-- name: queue
-- Waiting, claimed, and claimed by a lease that has ended.
SELECT count(*) FILTER (WHERE claim_token IS NULL), count(claim_token),
  count(*) FILTER (WHERE claim_token IS NOT NULL AND claim_expires_at <= :now)
FROM queue;

-- name: effects
SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'applied'),
  count(*) FILTER (WHERE state = 'rejected'), count(*) FILTER (WHERE state = 'indeterminate')
FROM effects;

-- name: requests
SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'running'),
  count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE state = 'succeeded'),
  count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'interrupted')
FROM workflow_requests;

-- name: resources
SELECT count(*), count(deletion_timestamp) FROM resources;

-- name: events
SELECT count(*) FROM events;

-- name: feed
SELECT count(*), coalesce(min(seq), 0), coalesce(max(seq), 0) FROM run_events;

-- name: watermarks
SELECT session_id, last_event_seq, updated_at FROM session_watermarks ORDER BY session_id;
