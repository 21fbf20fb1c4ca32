-- name: insert
INSERT INTO run_events (recorded_at, run_id, workflow_ref, type, runner_id, payload_json)
VALUES (:recorded_at, :run_id, :workflow_ref, :type, :runner_id, :payload_json);

-- name: after
SELECT seq, recorded_at, run_id, workflow_ref, type, runner_id, payload_json
FROM run_events
WHERE seq > :seq
ORDER BY seq
LIMIT :limit;

-- name: after_of_run
SELECT seq, recorded_at, run_id, workflow_ref, type, runner_id, payload_json
FROM run_events INDEXED BY run_events_run
WHERE run_id = :run_id AND seq > :seq
ORDER BY seq
LIMIT :limit;

-- name: before_last
-- The number after which the last events up to one begin.
SELECT seq
FROM run_events
WHERE seq <= :last
ORDER BY seq DESC
LIMIT 1 OFFSET :limit;

-- name: before_last_of_run
SELECT seq
FROM run_events INDEXED BY run_events_run
WHERE run_id = :run_id AND seq <= :last
ORDER BY seq DESC
LIMIT 1 OFFSET :limit;

-- name: latest
SELECT coalesce(max(seq), 0) FROM run_events;

-- name: watermark
SELECT last_event_seq FROM session_watermarks WHERE session_id = :session_id;

-- name: set_watermark
-- Never moves back.
INSERT INTO session_watermarks (session_id, last_event_seq, updated_at)
VALUES (:session_id, :seq, :updated_at)
ON CONFLICT (session_id) DO UPDATE SET
  last_event_seq = max(last_event_seq, excluded.last_event_seq),
  updated_at = excluded.updated_at;
