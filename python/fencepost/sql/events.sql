-- name: get
SELECT seq, recorded_at, controller, resource_key, type, payload_json
FROM events
WHERE seq = :seq;

-- name: insert
INSERT INTO events (recorded_at, controller, resource_key, type, payload_json)
VALUES (:recorded_at, :controller, :key, :type, :payload_json);

-- name: list
SELECT seq, recorded_at, controller, resource_key, type, payload_json
FROM events
WHERE seq < :before
ORDER BY seq DESC
LIMIT :limit;

-- name: list_by_controller
SELECT seq, recorded_at, controller, resource_key, type, payload_json
FROM events INDEXED BY fencepost_events_controller
WHERE controller = :controller AND seq < :before
ORDER BY seq DESC
LIMIT :limit;

-- name: list_by_key
SELECT seq, recorded_at, controller, resource_key, type, payload_json
FROM events INDEXED BY fencepost_events_key
WHERE resource_key = :key AND seq < :before
ORDER BY seq DESC
LIMIT :limit;

-- name: list_by_resource
SELECT seq, recorded_at, controller, resource_key, type, payload_json
FROM events INDEXED BY events_resource
WHERE controller = :controller AND resource_key = :key AND seq < :before
ORDER BY seq DESC
LIMIT :limit;

-- name: after
SELECT seq, recorded_at, controller, resource_key, type, payload_json
FROM events
WHERE seq > :seq
ORDER BY seq
LIMIT :limit;
