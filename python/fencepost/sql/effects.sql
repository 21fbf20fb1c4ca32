-- name: get
SELECT effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at,
  completed_at, external_ref, error
FROM effects
WHERE resource_uid = :resource_uid AND effect_key = :key;

-- name: list
SELECT effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at,
  completed_at, external_ref, error
FROM effects INDEXED BY fencepost_effects_started
WHERE resource_uid = :resource_uid
  AND (started_at, effect_key) > (:after_started_at, :after_key)
ORDER BY started_at, effect_key
LIMIT :limit;

-- name: insert
INSERT INTO effects (
  effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at
)
VALUES (:key, :resource_uid, :generation, :kind, 'pending', :request_fingerprint, :started_at);

-- name: update
UPDATE effects
SET state = :state, external_ref = coalesce(:external_ref, external_ref), error = :error,
  completed_at = :completed_at
WHERE resource_uid = :resource_uid AND effect_key = :key;

-- name: page_by_state
-- Of all resources, in insertion order; the first column is the place.
SELECT rowid, effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at,
  completed_at, external_ref, error
FROM effects
WHERE rowid > :after AND state = :state
ORDER BY rowid
LIMIT :limit;
