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

-- name: pages
SELECT page_count, page_size, freelist_count
FROM pragma_page_count, pragma_page_size, pragma_freelist_count;

-- name: stuck_runs
-- Claimed, but with no token or no end of the lease: nobody can ever take these.
SELECT run_id FROM workflow_run_queue INDEXED BY workflow_run_queue_claimable
WHERE status = 'claimed' AND (claim_token IS NULL OR claim_expires_at IS NULL)
LIMIT :limit;

-- name: stuck_keys
SELECT controller || '/' || resource_key FROM queue
WHERE claim_token IS NOT NULL AND claim_expires_at IS NULL
LIMIT :limit;

-- name: idle_runs
-- Claimable since before a time, and taken by nobody.
SELECT count(*), min(run_id) FROM workflow_run_queue
WHERE (status = 'parked' AND updated_at < :before_text)
  OR (status = 'claimed' AND claim_expires_at < :before);

-- name: failing_keys
SELECT count(*), max(consecutive_errors), min(controller || '/' || resource_key)
FROM queue WHERE consecutive_errors >= :errors;

-- name: future_times
-- Rows of a time that has not come yet; a queue row may well be due later.
SELECT 'workflow_run_queue', count(*), max(max(created_at, updated_at))
FROM workflow_run_queue WHERE created_at > :after_text OR updated_at > :after_text
UNION ALL SELECT 'run_events', count(*), max(recorded_at)
FROM run_events WHERE recorded_at > :after_text
UNION ALL SELECT 'events', count(*), max(recorded_at)
FROM events WHERE recorded_at > :after_text
UNION ALL SELECT 'resources', count(*), max(updated_at)
FROM resources WHERE updated_at > :after_text
UNION ALL SELECT 'effects', count(*), max(started_at)
FROM effects WHERE started_at > :after_text;

-- name: far_leases
-- Leases that end later than anybody would choose: the clock was ahead.
SELECT count(*), max(claim_expires_at) FROM (
  SELECT claim_expires_at FROM workflow_run_queue
  WHERE status = 'claimed' AND claim_expires_at > :after
  UNION ALL
  SELECT claim_expires_at FROM queue WHERE claim_token IS NOT NULL AND claim_expires_at > :after
);

-- name: clock_back
-- Where the feed's times go back by over a second, in its last events.
SELECT count(*), max(seq) FROM (
  SELECT seq, recorded_at, lag(recorded_at) OVER (ORDER BY seq) AS before FROM (
    SELECT seq, recorded_at FROM run_events ORDER BY seq DESC LIMIT :limit
  )
)
WHERE (julianday(before) - julianday(recorded_at)) * 86400.0 > 1.0;

-- name: run_claims
-- Those whose leases end first.
SELECT r.run_id, r.workflow_ref, r.runner_id, r.claim_expires_at, f.fence
FROM workflow_run_queue AS r INDEXED BY workflow_run_queue_claimable
  LEFT JOIN fencepost_run_fences AS f ON f.run_id = r.run_id
WHERE r.status = 'claimed'
ORDER BY r.claim_expires_at
LIMIT :limit;

-- name: queue_claims
SELECT controller, resource_key, claim_expires_at, consecutive_errors
FROM queue
WHERE claim_token IS NOT NULL
ORDER BY claim_expires_at
LIMIT :limit;

-- name: workers
SELECT runner_id, count(*), min(claim_expires_at), max(claim_expires_at)
FROM workflow_run_queue INDEXED BY workflow_run_queue_claimable
WHERE status = 'claimed'
GROUP BY runner_id
ORDER BY 2 DESC, 1
LIMIT :limit;
