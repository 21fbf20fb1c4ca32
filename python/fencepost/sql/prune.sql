-- Deleting what is over, a bounded number of rows at a time.

-- name: runs
-- A continuation goes only after its parent has gone: as long as the parent is there,
-- its row keeps the parent's one slot taken.
DELETE FROM workflow_run_queue
WHERE rowid IN (
  SELECT r.rowid
  FROM workflow_run_queue AS r INDEXED BY fencepost_runs_status
  WHERE r.status = 'done' AND r.updated_at < :before
    AND NOT EXISTS (
      SELECT 1 FROM workflow_run_queue AS p
      WHERE p.run_id = r.parent_run_id AND p.run_id <> r.run_id)
  ORDER BY r.created_at, r.rowid
  LIMIT :limit
);

-- name: events
-- Rows that a clock ahead of time has stamped are stepped over, wherever they stand.
DELETE FROM events
WHERE seq IN (
  SELECT seq FROM events WHERE recorded_at < :before ORDER BY seq LIMIT :limit
);

-- name: feed
-- Never what a consumer's watermark has yet to pass, unless told.
DELETE FROM run_events
WHERE seq IN (
  SELECT seq FROM run_events
  WHERE recorded_at < :before
    AND (:unread OR seq <= coalesce(
      (SELECT min(last_event_seq) FROM session_watermarks), 9223372036854775807))
  ORDER BY seq
  LIMIT :limit
);
