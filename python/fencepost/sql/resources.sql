-- name: get
SELECT uid, controller, resource_key, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json
FROM resources
WHERE controller = :controller AND resource_key = :key;

-- name: get_by_uid
SELECT uid, controller, resource_key, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json
FROM resources
WHERE uid = :uid;

-- name: list
SELECT uid, controller, resource_key, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json
FROM resources
WHERE (controller, resource_key) > (:after_controller, :after_key)
ORDER BY controller, resource_key
LIMIT :limit;

-- name: list_by_controller
SELECT uid, controller, resource_key, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json
FROM resources
WHERE controller = :controller AND resource_key > :after_key
ORDER BY resource_key
LIMIT :limit;

-- name: insert
INSERT INTO resources (
  controller, resource_key, uid, resource_version, generation, spec_json, status_json,
  deletion_timestamp, finalizers_json, updated_at
)
VALUES (:controller, :key, :uid, 1, 1, :spec_json, :status_json, NULL, '[]', :updated_at);

-- name: set_spec
UPDATE resources
SET spec_json = :spec_json, resource_version = resource_version + 1,
  generation = generation + 1, updated_at = :updated_at
WHERE controller = :controller AND resource_key = :key;

-- name: set_status
UPDATE resources
SET status_json = :status_json, finalizers_json = :finalizers_json,
  resource_version = resource_version + 1, updated_at = :updated_at
WHERE controller = :controller AND resource_key = :key;

-- name: set_finalizers
UPDATE resources
SET finalizers_json = :finalizers_json, resource_version = resource_version + 1,
  updated_at = :updated_at
WHERE controller = :controller AND resource_key = :key;

-- name: set_deletion
UPDATE resources
SET deletion_timestamp = :updated_at, resource_version = resource_version + 1,
  updated_at = :updated_at
WHERE controller = :controller AND resource_key = :key AND deletion_timestamp IS NULL;

-- name: delete
DELETE FROM resources
WHERE controller = :controller AND resource_key = :key;
