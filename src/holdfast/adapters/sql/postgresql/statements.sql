-- What PostgreSQL says in its own way.

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
INSERT INTO spot_pools VALUES (:client_id, :pool, :seconds, 1) ON CONFLICT (client_id, id) DO UPDATE SET
    avg_boot_time_seconds = (
        spot_pools.avg_boot_time_seconds * spot_pools.boot_sample_count + excluded.avg_boot_time_seconds
    ) / (spot_pools.boot_sample_count + 1),
    boot_sample_count = spot_pools.boot_sample_count + 1;

-- name: promote_body
SELECT promote_instance_to_primary_body(:instance_id::text, :id::text, :expected::bigint, :fenced::text);

-- name: lock_beats
SELECT client_id, id FROM instances
WHERE (client_id, id) IN (SELECT * FROM unnest(:client_ids::text[], :ids::text[]))
ORDER BY client_id, id FOR UPDATE SKIP LOCKED;

-- name: renew
UPDATE instances SET heartbeat_s = {now}, report = b.report,
    lease_until_s = CASE WHEN is_primary AND instances.epoch = b.epoch AND b.watchdog
        THEN greatest(lease_until_s, {now} + :ratio * greatest(:granted_s::float8, paused_until_s - {now}))
        ELSE lease_until_s END
FROM unnest(
    :client_ids::text[], :ids::text[], :agent_ids::text[], :sessions::text[], :epochs::bigint[],
    :watchdogs::boolean[], :reports::text[]
) AS b(client_id, id, agent_id, session, epoch, watchdog, report)
WHERE instances.client_id = b.client_id AND instances.id = b.id AND instances.agent_id = b.agent_id
    AND instances.session = b.session
RETURNING instances.client_id, instances.id, instances.epoch, is_primary, instance_status, goal_version,
    greatest(:granted_s::float8, paused_until_s - {now});
