-- What fencepost adds to the shared tables: indexes that keep every claim and
-- lookup at one seek, and fence numbers. The other store keeps working on the
-- file; its claims move the fences too, because triggers see every writer.

-- Runs. Rows end with the rowid in every index, so (status, created_at) also
-- orders by insertion.
CREATE INDEX IF NOT EXISTS fencepost_runs_created ON workflow_run_queue (created_at);
CREATE INDEX IF NOT EXISTS fencepost_runs_status ON workflow_run_queue (status, created_at);
CREATE INDEX IF NOT EXISTS fencepost_runs_affinity
  ON workflow_run_queue (affinity_runner_id, status, created_at) WHERE status <> 'done';

-- Reconcile queue: the waiting and the claimed rows of one controller apart, so
-- that neither other controllers nor rows in flight are walked over.
CREATE INDEX IF NOT EXISTS fencepost_queue_idle
  ON queue (controller, available_at, resource_key) WHERE claim_token IS NULL;
CREATE INDEX IF NOT EXISTS fencepost_queue_claimed
  ON queue (controller, available_at, resource_key) WHERE claim_token IS NOT NULL;
CREATE INDEX IF NOT EXISTS fencepost_queue_expiry
  ON queue (controller, claim_expires_at) WHERE claim_token IS NOT NULL;

-- Listings in their documented order.
CREATE INDEX IF NOT EXISTS fencepost_effects_started
  ON effects (resource_uid, started_at, effect_key);
CREATE INDEX IF NOT EXISTS fencepost_requests_resource ON workflow_requests (resource_uid);
CREATE INDEX IF NOT EXISTS fencepost_events_controller ON events (controller);
CREATE INDEX IF NOT EXISTS fencepost_events_key ON events (resource_key);

-- Fences. One counter for the whole file, so that a fence never comes again for
-- an id, not even for a row that was deleted and made anew; the side tables hold
-- the fence of each present claim only, and so stay as small as the claims are few.
CREATE TABLE IF NOT EXISTS fencepost_fence (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  last INTEGER NOT NULL CHECK (last >= 0)
);
INSERT OR IGNORE INTO fencepost_fence (singleton, last) VALUES (1, 0);

CREATE TABLE IF NOT EXISTS fencepost_run_fences (
  run_id TEXT PRIMARY KEY NOT NULL,
  fence INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS fencepost_queue_fences (
  controller TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  fence INTEGER NOT NULL,
  PRIMARY KEY (controller, resource_key)
) WITHOUT ROWID;

-- "UPDATE OF claim_token" fires when a statement sets the column, whatever the
-- value: a claim under an old token is still a new claim, while a renewal (which
-- sets the expiry alone) is none.
CREATE TRIGGER IF NOT EXISTS fencepost_run_insert
AFTER INSERT ON workflow_run_queue WHEN NEW.claim_token IS NOT NULL
BEGIN
  UPDATE fencepost_fence SET last = last + 1;
  INSERT INTO fencepost_run_fences (run_id, fence)
  VALUES (NEW.run_id, (SELECT last FROM fencepost_fence))
  ON CONFLICT (run_id) DO UPDATE SET fence = excluded.fence;
END;

CREATE TRIGGER IF NOT EXISTS fencepost_run_claim
AFTER UPDATE OF claim_token ON workflow_run_queue WHEN NEW.claim_token IS NOT NULL
BEGIN
  UPDATE fencepost_fence SET last = last + 1;
  INSERT INTO fencepost_run_fences (run_id, fence)
  VALUES (NEW.run_id, (SELECT last FROM fencepost_fence))
  ON CONFLICT (run_id) DO UPDATE SET fence = excluded.fence;
END;

CREATE TRIGGER IF NOT EXISTS fencepost_run_release
AFTER UPDATE OF claim_token ON workflow_run_queue
WHEN NEW.claim_token IS NULL AND OLD.claim_token IS NOT NULL
BEGIN
  DELETE FROM fencepost_run_fences WHERE run_id = OLD.run_id;
END;

CREATE TRIGGER IF NOT EXISTS fencepost_run_delete
AFTER DELETE ON workflow_run_queue WHEN OLD.claim_token IS NOT NULL
BEGIN
  DELETE FROM fencepost_run_fences WHERE run_id = OLD.run_id;
END;

CREATE TRIGGER IF NOT EXISTS fencepost_queue_claim
AFTER UPDATE OF claim_token ON queue WHEN NEW.claim_token IS NOT NULL
BEGIN
  UPDATE fencepost_fence SET last = last + 1;
  INSERT INTO fencepost_queue_fences (controller, resource_key, fence)
  VALUES (NEW.controller, NEW.resource_key, (SELECT last FROM fencepost_fence))
  ON CONFLICT (controller, resource_key) DO UPDATE SET fence = excluded.fence;
END;

CREATE TRIGGER IF NOT EXISTS fencepost_queue_release
AFTER UPDATE OF claim_token ON queue
WHEN NEW.claim_token IS NULL AND OLD.claim_token IS NOT NULL
BEGIN
  DELETE FROM fencepost_queue_fences
  WHERE controller = OLD.controller AND resource_key = OLD.resource_key;
END;

CREATE TRIGGER IF NOT EXISTS fencepost_queue_delete
AFTER DELETE ON queue WHEN OLD.claim_token IS NOT NULL
BEGIN
  DELETE FROM fencepost_queue_fences
  WHERE controller = OLD.controller AND resource_key = OLD.resource_key;
END;

-- Claims made before these triggers existed get their fences now.
INSERT OR IGNORE INTO fencepost_run_fences (run_id, fence)
SELECT run_id, (SELECT last FROM fencepost_fence) + row_number() OVER (ORDER BY rowid)
FROM workflow_run_queue WHERE claim_token IS NOT NULL
  AND run_id NOT IN (SELECT run_id FROM fencepost_run_fences);
UPDATE fencepost_fence
SET last = max(last, (SELECT coalesce(max(fence), 0) FROM fencepost_run_fences));
INSERT OR IGNORE INTO fencepost_queue_fences (controller, resource_key, fence)
SELECT controller, resource_key,
  (SELECT last FROM fencepost_fence) + row_number() OVER (ORDER BY rowid)
FROM queue AS q WHERE claim_token IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM fencepost_queue_fences AS f
  WHERE f.controller = q.controller AND f.resource_key = q.resource_key);
UPDATE fencepost_fence
SET last = max(last, (SELECT coalesce(max(fence), 0) FROM fencepost_queue_fences));
