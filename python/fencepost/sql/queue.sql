-- name: enqueue
-- Level-triggered: one row a key; the version counts the enqueues, also while claimed.
INSERT INTO queue (controller, resource_key, available_at, version, consecutive_errors)
VALUES (:controller, :key, :available_at, 1, 0)
ON CONFLICT (controller, resource_key) DO UPDATE SET
  available_at = min(available_at, excluded.available_at), version = version + 1;

-- name: enqueue_existing
-- The same for a key that may not exist: then no row changes.
INSERT INTO queue (controller, resource_key, available_at, version, consecutive_errors)
SELECT controller, resource_key, :available_at, 1, 0
FROM resources
WHERE controller = :controller AND resource_key = :key
ON CONFLICT (controller, resource_key) DO UPDATE SET
  available_at = min(available_at, excluded.available_at), version = version + 1;

-- name: ready
-- Due rows of one controller in claim order; the engine takes the first.
SELECT available_at, resource_key
FROM queue INDEXED BY fencepost_queue_idle
WHERE controller = :controller AND claim_token IS NULL AND available_at <= :now
ORDER BY available_at, resource_key;

-- name: expired_some
-- A few expired claims in the order of their expiry: when there are no more than
-- these (the usual case is none), the engine picks the first of them itself and
-- never walks over the claims that are alive.
SELECT available_at, resource_key
FROM queue INDEXED BY fencepost_queue_expiry
WHERE controller = :controller AND claim_token IS NOT NULL AND claim_expires_at <= :now
LIMIT :limit;

-- name: expired
-- Expired claims in claim order, for when many have expired at once.
SELECT available_at, resource_key
FROM queue INDEXED BY fencepost_queue_claimed
WHERE controller = :controller AND claim_token IS NOT NULL AND available_at <= :now
  AND claim_expires_at <= :now
ORDER BY available_at, resource_key;

-- name: claim
UPDATE queue
SET claim_token = :claim_token, claim_version = version, claim_expires_at = :claim_expires_at
WHERE controller = :controller AND resource_key = :key
  AND (claim_token IS NULL OR claim_expires_at <= :now);

-- name: claimed
SELECT q.controller, q.resource_key, q.claim_token, q.version, q.consecutive_errors,
  q.claim_expires_at, f.fence
FROM queue AS q LEFT JOIN fencepost_queue_fences AS f
  ON f.controller = q.controller AND f.resource_key = q.resource_key
WHERE q.controller = :controller AND q.resource_key = :key;

-- name: renew
UPDATE queue
SET claim_expires_at = :claim_expires_at
WHERE controller = :controller AND resource_key = :key AND claim_token = :claim_token
  AND claim_expires_at > :now;

-- name: settle
-- Nothing came since the claim: the key is reconciled.
DELETE FROM queue
WHERE controller = :controller AND resource_key = :key AND claim_token = :claim_token
  AND version IS claim_version;

-- name: release
-- An enqueue came during the claim: the row stays, and is due.
UPDATE queue
SET claim_token = NULL, claim_version = NULL, claim_expires_at = NULL,
  available_at = min(available_at, :now), consecutive_errors = 0, last_error = NULL
WHERE controller = :controller AND resource_key = :key AND claim_token = :claim_token;

-- name: requeue
UPDATE queue
SET claim_token = NULL, claim_version = NULL, claim_expires_at = NULL,
  available_at = CASE WHEN version IS claim_version THEN :available_at
    ELSE min(available_at, :available_at) END,
  consecutive_errors = CASE WHEN :error IS NULL THEN 0 ELSE consecutive_errors + 1 END,
  last_error = :error
WHERE controller = :controller AND resource_key = :key AND claim_token = :claim_token;

-- name: list
SELECT controller, resource_key, available_at, consecutive_errors, claim_expires_at
FROM queue INDEXED BY queue_ready
WHERE (available_at, controller, resource_key) > (:after_available_at, :after_controller, :after_key)
ORDER BY available_at, controller, resource_key
LIMIT :limit;

-- name: list_by_controller
-- A walk over the whole list: `+` keeps the planner from sorting one controller's rows.
SELECT controller, resource_key, available_at, consecutive_errors, claim_expires_at
FROM queue INDEXED BY queue_ready
WHERE (available_at, controller, resource_key) > (:after_available_at, :after_controller, :after_key)
  AND +controller = :controller
ORDER BY available_at, controller, resource_key
LIMIT :limit;

-- name: next_due
-- When the first idle key is due; when the first claim of a due key ends; and when the first
-- claimed key that is not due is to be looked at again. There is one of these only where the
-- clock was set back: it may have expired, and must not stand before the others.
SELECT
  (SELECT available_at
    FROM queue INDEXED BY fencepost_queue_idle
    WHERE controller = :controller AND claim_token IS NULL
    ORDER BY available_at
    LIMIT 1),
  (SELECT claim_expires_at
    FROM queue INDEXED BY fencepost_queue_expiry
    WHERE controller = :controller AND claim_token IS NOT NULL AND claim_expires_at IS NOT NULL
      AND available_at <= :now
    ORDER BY claim_expires_at
    LIMIT 1),
  (SELECT available_at
    FROM queue INDEXED BY fencepost_queue_claimed
    WHERE controller = :controller AND claim_token IS NOT NULL AND available_at > :now
    ORDER BY available_at
    LIMIT 1);

-- name: get
-- The whole row, for a person to look at.
SELECT available_at, version, consecutive_errors, last_error, claim_version, claim_expires_at
FROM queue
WHERE controller = :controller AND resource_key = :key;
