-- What a file holds, asked before anything is written to it.

-- name: tables
SELECT name
FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND name NOT LIKE 'fencepost\_%' ESCAPE '\';

-- name: columns
-- One row a column: table, name, declared type, not null, position in the key.
SELECT t.name, c.name, upper(c.type), c."notnull", c.pk
FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND t.name NOT LIKE 'fencepost\_%' ESCAPE '\';

-- name: schema_id
SELECT schema_id FROM schema_info WHERE singleton = 1;

-- name: additions
-- What fencepost added so far, and the indexes of the shared tables; an older or interrupted
-- set-up shows as fewer names.
SELECT type, name, sql FROM sqlite_schema
WHERE type = 'index'
  OR (name LIKE 'fencepost\_%' ESCAPE '\' AND type IN ('table', 'trigger'));

-- name: version
-- Grows with every change of the layout; the second says whether there is a schema id.
SELECT schema_version,
  EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_info')
FROM pragma_schema_version;

-- name: foreign_tables
-- Tables and views in a file without our schema table: somebody else's database.
SELECT name
FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_info');
