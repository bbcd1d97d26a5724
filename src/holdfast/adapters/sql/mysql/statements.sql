-- What MariaDB and MySQL say in their own way.  Where rows are locked the index is named: a scan of a small table
-- would wait for the rows of others.  An update answers no rows, so what is told of each is read as it is locked.

-- name: lock_instances
SELECT id, instance_status, is_primary, body FROM instances FORCE INDEX (idx_instances_agent_primary)
WHERE agent_id = :id ORDER BY id FOR UPDATE;

-- name: add_agent
INSERT INTO agents (id, client_id, logical_agent_id, body) VALUES (:id, :client_id, :agent_id, '{}')
ON DUPLICATE KEY UPDATE id = agents.id;

-- name: add_client_if_missing
INSERT IGNORE INTO clients (id) VALUES (:client_id);

-- name: add_client
INSERT IGNORE INTO clients (id, name, launches_per_hour_max, requests_per_second_max, created_s)
VALUES (:client_id, :name, :launches_per_hour_max, :requests_per_second_max, :created_s);

-- name: add_token
INSERT INTO tokens (id, kind, digest, client_id, agent_id, instance_id, created_s, expires_s, enrolment)
VALUES (:token_id, :kind, :digest, :client_id, :agent_id, :instance_id, :created_s, :expires_s, :enrolment)
ON DUPLICATE KEY UPDATE kind = tokens.kind;

-- name: pool_sample
INSERT INTO spot_pools VALUES (:client_id, :pool, :seconds, 1) ON DUPLICATE KEY UPDATE
    avg_boot_time_seconds = (avg_boot_time_seconds * boot_sample_count + :seconds) / (boot_sample_count + 1),
    boot_sample_count = boot_sample_count + 1;

-- name: promote_body
CALL promote_instance_to_primary_body(:instance_id, :id, :expected, :fenced);

-- name: lock_beats
SELECT i.client_id, i.id, i.agent_id = b.agent_id AND i.session = b.session,
    i.epoch, i.is_primary, i.instance_status, i.goal_version, i.paused_until_s
FROM :keys AS b STRAIGHT_JOIN instances AS i FORCE INDEX (PRIMARY) ON i.client_id = b.client_id AND i.id = b.id
FOR UPDATE SKIP LOCKED;

-- name: renew_rows
UPDATE (SELECT {now} AS now_s) AS clock STRAIGHT_JOIN :beats AS b STRAIGHT_JOIN instances AS i FORCE INDEX (PRIMARY)
    ON i.client_id = b.client_id AND i.id = b.id AND i.agent_id = b.agent_id AND i.session = b.session
SET i.heartbeat_s = clock.now_s, i.report = b.report,
    i.lease_until_s = IF(i.is_primary AND i.epoch = b.epoch AND b.watchdog,
        greatest(i.lease_until_s, clock.now_s + :ratio * greatest(:granted_s, i.paused_until_s - clock.now_s)),
        i.lease_until_s);
