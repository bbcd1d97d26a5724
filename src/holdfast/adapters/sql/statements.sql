-- Statements that all databases share.  {now} is the database's clock in seconds, {lock} keeps the row.

-- name: read_agent
SELECT version, commit_id, epoch, mode, auto_terminate_enabled, terminate_wait_seconds, body
FROM agents WHERE id = :id;

-- name: lock_agent
SELECT version, commit_id, epoch, mode, auto_terminate_enabled, terminate_wait_seconds, body
FROM agents WHERE id = :id {lock};

-- name: read_instances
SELECT id, instance_status, is_primary, version, instance_type, region, az, body
FROM instances WHERE agent_id = :id AND position IS NOT NULL ORDER BY position;

-- name: lock_instances
SELECT id, instance_status, is_primary, body FROM instances WHERE agent_id = :id ORDER BY id {lock};

-- name: read_replicas
SELECT id, instance_id, status, emergency, body
FROM replica_instances WHERE agent_id = :id AND position IS NOT NULL ORDER BY position;

-- name: last_told
SELECT coalesce(max(version), 0) FROM system_events WHERE agent_id = :id;

-- name: commit_id_at
SELECT commit_id FROM system_events WHERE agent_id = :id AND version = :version AND n = 0;

-- name: events
SELECT version, n, commit_id, event_type, at_s, about, message, numbers, code
FROM system_events WHERE agent_id = :id AND version > :after ORDER BY version, n;

-- name: tell
INSERT INTO system_events
    (agent_id, version, n, commit_id, at_s, event_type, severity, about, message, numbers, code)
VALUES (:id, :version, :n, :commit_id, :at_s, :kind, :severity, :about, :reason, :numbers, :code);

-- name: forget_events
DELETE FROM system_events WHERE agent_id = :id AND version < :version AND at_s < :before_s;

-- name: put_agent
UPDATE agents SET instance_id = :holder, version = :version, commit_id = :commit_id, epoch = :epoch,
    mode = :mode, auto_terminate_enabled = :auto_terminate, terminate_wait_seconds = :terminate_wait_s,
    notice_status = :notice, notice_received_at = {time :notice_s}, notice_deadline = {time :deadline_s},
    taking_over = :taking_over, due_s = {now}, changed_n = :changed_n, body = :body
WHERE id = :id AND coalesce(version, -1) = :stored;

-- name: add_instance
INSERT INTO instances (client_id, id, agent_id, instance_status) VALUES (:client_id, :instance_id, :id, :status);

-- name: put_instance
UPDATE instances SET position = :position, is_primary = :is_primary, instance_status = :status,
    version = :version, instance_type = :instance_type, region = :region, az = :az,
    demoted_at = {time :demoted_s}, epoch = :epoch, paused_until_s = :paused_until_s,
    goal_version = :goal_version, body = :body
WHERE client_id = :client_id AND id = :instance_id AND agent_id = :id;

-- name: end_lease
UPDATE instances SET lease_until_s = 0
WHERE client_id = :client_id AND id = :instance_id AND agent_id = :id AND NOT is_primary;

-- name: leave_record
UPDATE instances SET position = NULL, is_primary = {false}, instance_status = 'terminated',
    terminated_at = coalesce(terminated_at, {time :at_s}), version = version + 1, epoch = :epoch,
    goal_version = :goal_version
WHERE client_id = :client_id AND id = :instance_id AND agent_id = :id;

-- name: promote_check_version
SELECT version FROM agents WHERE id = :id {lock};

-- name: promote_check_leases
SELECT id FROM instances
WHERE agent_id = :id AND id <> :instance_id AND id <> :fenced AND lease_until_s > {now};

-- name: promote_demote
UPDATE instances SET is_primary = {false}, instance_status = 'zombie', demoted_at = {time {now}}
WHERE agent_id = :id AND is_primary AND id <> :instance_id;

-- name: promote_promote
UPDATE instances SET is_primary = {true}, instance_status = 'promoting', version = version + 1
WHERE agent_id = :id AND id = :instance_id AND instance_status IN ('running_replica', 'demoting');

-- name: known_replicas
SELECT id, status, position, body FROM replica_instances WHERE agent_id = :id;

-- name: add_replica
INSERT INTO replica_instances (client_id, id, agent_id, status) VALUES (:client_id, :replica_id, :id, :status);

-- name: put_replica
UPDATE replica_instances SET position = :position, instance_id = :instance_id, status = :status,
    emergency = :emergency, promoted_at = {time :promoted_s}, instance_type = :instance_type,
    region = :region, az = :az, body = :body
WHERE client_id = :client_id AND id = :replica_id AND agent_id = :id;

-- name: replica_leaves
UPDATE replica_instances SET position = NULL
WHERE client_id = :client_id AND id = :replica_id AND agent_id = :id;

-- name: take_launches
UPDATE clients SET
    launches = CASE WHEN launches_since_s <= {now} - 3600 THEN 0 ELSE launches END + :launches,
    launches_since_s = CASE WHEN launches_since_s <= {now} - 3600 THEN {now} ELSE launches_since_s END
WHERE id = :client_id
    AND CASE WHEN launches_since_s <= {now} - 3600 THEN 0 ELSE launches END + :launches <= launches_per_hour_max;

-- name: launches_left
SELECT launches_per_hour_max - CASE WHEN launches_since_s <= {now} - 3600 THEN 0 ELSE launches END
FROM clients WHERE id = :client_id;

-- name: add_request
INSERT INTO requests (client_id, request_id, digest, commit_id, answer, http_status, at_s)
VALUES (:client_id, :request_id, :digest, :commit_id, :answer, :http_status, {now});

-- name: request
SELECT digest, answer, http_status, at_s FROM requests
WHERE client_id = :client_id AND request_id = :request_id;

-- name: forget_requests
DELETE FROM requests WHERE at_s < {now} - :kept_s;

-- name: change_number
SELECT n FROM counters WHERE name = 'change';

-- name: raise_change_number
UPDATE counters SET n = CASE WHEN n < :n THEN :n ELSE n END WHERE name = 'change';

-- name: mark_restored
UPDATE counters SET n = -1 - n WHERE name = 'change' AND n >= 0 AND n < :known;

-- name: count_change
UPDATE counters SET n = n + 1 WHERE name = 'change';

-- name: now
SELECT {now};

-- name: look
SELECT id, epoch, is_primary, session, boot_id, lease_until_s, heartbeat_s, report
FROM instances WHERE agent_id = :id AND position IS NOT NULL ORDER BY position;

-- name: newest_heartbeat
SELECT max(heartbeat_s) FROM instances;

-- name: pools
SELECT id, avg_boot_time_seconds FROM spot_pools WHERE client_id = :client_id;

-- name: seen_by
SELECT client_id, id, agent_id, epoch, is_primary, instance_status, goal_version, session
FROM instances WHERE client_id = :client_id AND id = :instance_id AND agent_id = :id;

-- name: take_session
UPDATE instances SET session = :session, boot_id = :boot_id
WHERE client_id = :client_id AND id = :instance_id AND agent_id = :id
    AND (session = :session OR session = '' OR boot_id = :boot_id OR lease_until_s <= {now});

-- name: lease_left
SELECT lease_until_s - {now} FROM instances
WHERE client_id = :client_id AND id = :instance_id AND agent_id = :id;

-- name: due
SELECT agents.id FROM agents LEFT JOIN instances ON instances.agent_id = agents.id AND instances.is_primary
WHERE agents.due_s <= {now} OR instances.id IS NULL OR instances.lease_until_s <= {now}
ORDER BY agents.due_s, agents.id LIMIT :most;

-- name: set_due
UPDATE agents SET due_s = {now} + :after_s,
    last_heartbeat_at = (
        SELECT {time max(heartbeat_s)} FROM instances WHERE instances.agent_id = agents.id AND heartbeat_s > 0),
    status = CASE WHEN EXISTS (
        SELECT 1 FROM instances
        WHERE instances.agent_id = agents.id AND is_primary AND lease_until_s > {now}
    ) THEN 'online' ELSE 'offline' END
WHERE id = :id AND version = :version;

-- name: claim
UPDATE agents SET driver = :driver, driver_until_s = {now} + :for_s
WHERE id = :id AND (driver = :driver OR driver_until_s <= {now});

-- name: changed
SELECT id, changed_n FROM agents WHERE changed_n > :after_n ORDER BY changed_n;

-- name: clients
SELECT id, name, launches_per_hour_max, requests_per_second_max, created_s FROM clients ORDER BY id;

-- name: client
SELECT id, name, launches_per_hour_max, requests_per_second_max, created_s FROM clients WHERE id = :client_id;

-- name: token
SELECT id, kind, digest, client_id, agent_id, instance_id, created_s, expires_s, used, enrolment
FROM tokens WHERE digest = :digest AND NOT ended;

-- name: lock_token
SELECT id, kind, digest, client_id, agent_id, instance_id, created_s, expires_s, used, enrolment
FROM tokens WHERE digest = :digest AND NOT ended {lock};

-- name: tokens
SELECT id, kind, digest, client_id, agent_id, instance_id, created_s, expires_s, used, enrolment
FROM tokens WHERE client_id = :client_id AND NOT ended ORDER BY created_s, id;

-- name: token_is_used
UPDATE tokens SET used = {true} WHERE id = :token_id;

-- name: end_token
UPDATE tokens SET ended = {true} WHERE client_id = :client_id AND id = :token_id AND NOT ended;

-- name: bind_enrolment
UPDATE tokens SET instance_id = :instance_id WHERE id = :token_id;

-- name: issued_for
SELECT id, used FROM tokens WHERE enrolment = :token_id;

-- name: agents_of
SELECT logical_agent_id FROM agents WHERE client_id = :client_id ORDER BY logical_agent_id;

-- name: instances_of
SELECT {instance_columns} FROM instances WHERE client_id = :client_id AND agent_id = :id
ORDER BY CASE WHEN position IS NULL THEN 1 ELSE 0 END, terminated_at DESC, id;

-- name: instance
SELECT {instance_columns} FROM instances WHERE client_id = :client_id AND id = :instance_id;

-- name: agent_of_replica
SELECT agent_id FROM replica_instances WHERE client_id = :client_id AND id = :replica_id
UNION ALL SELECT agent_id FROM instances WHERE client_id = :client_id AND id = :replica_id;

-- name: status_counts
SELECT client_id, instance_status, count(*) FROM instances GROUP BY client_id, instance_status;

-- name: more_than_one_primary
SELECT agent_id, count(*) FROM instances WHERE is_primary GROUP BY agent_id HAVING count(*) > 1;
