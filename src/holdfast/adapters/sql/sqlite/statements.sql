-- What SQLite says in its own way.  A write transaction holds the whole file, so no row is locked or skipped.

-- name: add_agent
INSERT INTO agents (id, client_id, logical_agent_id) VALUES (:id, :client_id, :agent_id) ON CONFLICT DO NOTHING;

-- name: add_client_if_missing
INSERT INTO clients (id) VALUES (:client_id) ON CONFLICT DO NOTHING;

-- name: add_client
INSERT INTO clients (id, name, launches_per_hour_max, requests_per_second_max, created_s)
VALUES (:client_id, :name, :launches_per_hour_max, :requests_per_second_max, :created_s) ON CONFLICT DO NOTHING;

-- name: add_token
INSERT INTO tokens (id, kind, digest, client_id, agent_id, instance_id, created_s, expires_s, enrolment)
VALUES (:token_id, :kind, :digest, :client_id, :agent_id, :instance_id, :created_s, :expires_s, :enrolment)
ON CONFLICT (id) DO NOTHING;

-- name: pool_sample
INSERT INTO spot_pools VALUES (:client_id, :pool, :seconds, 1) ON CONFLICT DO UPDATE SET
    avg_boot_time_seconds = (avg_boot_time_seconds * boot_sample_count + excluded.avg_boot_time_seconds)
        / (boot_sample_count + 1),
    boot_sample_count = boot_sample_count + 1;

-- name: renew
UPDATE instances SET heartbeat_s = {now}, report = b.report,
    lease_until_s = CASE WHEN is_primary AND instances.epoch = b.epoch AND b.watchdog
        THEN max(lease_until_s, {now} + :ratio * max(:granted_s, paused_until_s - {now}))
        ELSE lease_until_s END
FROM (
    SELECT value ->> 'client_id' AS client_id, value ->> 'id' AS id, value ->> 'agent_id' AS agent_id,
        value ->> 'session' AS session, value ->> 'epoch' AS epoch, value ->> 'watchdog' AS watchdog,
        value ->> 'report' AS report
    FROM json_each(:beats)
) AS b
WHERE instances.client_id = b.client_id AND instances.id = b.id AND instances.agent_id = b.agent_id
    AND instances.session = b.session
RETURNING instances.client_id, instances.id, instances.epoch, is_primary, instance_status, goal_version,
    max(:granted_s, paused_until_s - {now});
