-- The tables of failover, by the names of the seeds: keys per client, and a primary that is unique in the schema.
CREATE TABLE IF NOT EXISTS clients (
    id varchar(64) PRIMARY KEY,
    name varchar(255) NOT NULL DEFAULT '',
    launches_per_hour_max integer NOT NULL DEFAULT 20,
    requests_per_second_max integer NOT NULL DEFAULT 200,
    launches integer NOT NULL DEFAULT 0,
    launches_since_s double NOT NULL DEFAULT 0,
    created_s double NOT NULL DEFAULT 0
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tokens (
    id varchar(64) PRIMARY KEY,
    kind varchar(16) NOT NULL,
    digest varchar(128) NOT NULL UNIQUE,
    client_id varchar(64) NOT NULL DEFAULT '',
    agent_id varchar(64) NOT NULL DEFAULT '',
    instance_id varchar(64) NOT NULL DEFAULT '',
    created_s double NOT NULL DEFAULT 0,
    expires_s double NOT NULL DEFAULT 0,
    ended boolean NOT NULL DEFAULT false,
    used boolean NOT NULL DEFAULT false,
    enrolment varchar(64) NOT NULL DEFAULT '',
    KEY idx_tokens_client (client_id)
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS agents (
    id varchar(129) PRIMARY KEY,
    client_id varchar(64) NOT NULL,
    logical_agent_id varchar(64) NOT NULL,
    instance_id varchar(64),
    status varchar(16) NOT NULL DEFAULT 'offline' CHECK (status IN ('online', 'offline')),
    last_heartbeat_at datetime(6),
    version bigint,
    commit_id varchar(64) NOT NULL DEFAULT '',
    epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    mode varchar(16) NOT NULL DEFAULT 'auto_switch' CHECK (mode IN ('auto_switch', 'manual_replica', 'off')),
    auto_switch_enabled boolean GENERATED ALWAYS AS (mode = 'auto_switch') VIRTUAL,
    manual_replica_enabled boolean GENERATED ALWAYS AS (mode = 'manual_replica') VIRTUAL,
    auto_terminate_enabled boolean NOT NULL DEFAULT true,
    terminate_wait_seconds double NOT NULL DEFAULT 300,
    notice_status varchar(16) NOT NULL DEFAULT 'none'
        CHECK (notice_status IN ('none', 'rebalance', 'termination')),
    notice_received_at datetime(6),
    notice_deadline datetime(6),
    taking_over boolean NOT NULL DEFAULT false,
    due_s double NOT NULL DEFAULT 0,
    driver varchar(128) NOT NULL DEFAULT '',
    driver_until_s double NOT NULL DEFAULT 0,
    changed_n bigint NOT NULL DEFAULT 0,
    body json NOT NULL DEFAULT ('{}'),
    UNIQUE (client_id, logical_agent_id),
    KEY idx_agents_changed (changed_n)
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS instances (
    client_id varchar(64) NOT NULL,
    id varchar(64) NOT NULL,
    agent_id varchar(129) NOT NULL,
    position integer,
    is_primary boolean NOT NULL DEFAULT false,
    -- NULL unless primary: the unique key over it lets one primary an agent pass.
    primary_of varchar(129) GENERATED ALWAYS AS (IF(is_primary, agent_id, NULL)) VIRTUAL,
    instance_status varchar(32) NOT NULL CHECK (instance_status IN (
        'launching', 'running_replica', 'promoting', 'running_primary', 'demoting', 'zombie', 'terminating',
        'terminated')),
    version bigint NOT NULL DEFAULT 0,
    instance_type varchar(255) NOT NULL DEFAULT '',
    region varchar(255) NOT NULL DEFAULT '',
    az varchar(255) NOT NULL DEFAULT '',
    demoted_at datetime(6),
    terminated_at datetime(6),
    epoch bigint NOT NULL DEFAULT 0,
    session varchar(128) NOT NULL DEFAULT '',
    boot_id varchar(128) NOT NULL DEFAULT '',
    lease_until_s double NOT NULL DEFAULT 0,
    heartbeat_s double NOT NULL DEFAULT 0,
    paused_until_s double NOT NULL DEFAULT 0,
    goal_version bigint NOT NULL DEFAULT 0,
    report text NOT NULL DEFAULT ('{}'),
    body json NOT NULL DEFAULT ('{}'),
    PRIMARY KEY (client_id, id),
    CHECK (is_primary = (instance_status IN ('promoting', 'running_primary'))),
    KEY idx_instances_agent_primary (agent_id, is_primary, instance_status),
    UNIQUE KEY one_primary_per_agent (primary_of)
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS replica_instances (
    client_id varchar(64) NOT NULL,
    id varchar(64) NOT NULL,
    agent_id varchar(129) NOT NULL,
    position integer,
    instance_id varchar(64) NOT NULL DEFAULT '',
    status varchar(16) NOT NULL
        CHECK (status IN ('launching', 'syncing', 'ready', 'promoted', 'terminated', 'failed')),
    emergency boolean NOT NULL DEFAULT false,
    promoted_at datetime(6),
    instance_type varchar(255) NOT NULL DEFAULT '',
    region varchar(255) NOT NULL DEFAULT '',
    az varchar(255) NOT NULL DEFAULT '',
    body json NOT NULL DEFAULT ('{}'),
    PRIMARY KEY (client_id, id),
    KEY idx_replicas_agent (agent_id)
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS spot_pools (
    client_id varchar(64) NOT NULL,
    id varchar(129) NOT NULL,
    avg_boot_time_seconds double NOT NULL DEFAULT 0,
    boot_sample_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (client_id, id)
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS system_events (
    agent_id varchar(129) NOT NULL,
    version bigint NOT NULL,
    n integer NOT NULL,
    commit_id varchar(64) NOT NULL,
    at_s double NOT NULL,
    event_type varchar(64) NOT NULL,
    severity varchar(16) NOT NULL,
    about text NOT NULL DEFAULT (''),
    message text NOT NULL DEFAULT (''),
    numbers text NOT NULL DEFAULT ('{}'),
    code varchar(64) NOT NULL DEFAULT '',
    PRIMARY KEY (agent_id, version, n)
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS requests (
    client_id varchar(64) NOT NULL,
    request_id varchar(128) NOT NULL,
    digest varchar(128) NOT NULL,
    commit_id varchar(64) NOT NULL,
    answer mediumtext NOT NULL,
    http_status integer NOT NULL,
    at_s double NOT NULL,
    PRIMARY KEY (client_id, request_id),
    KEY idx_requests_age (at_s)
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS counters (
    name varchar(16) PRIMARY KEY,
    n bigint NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin;

INSERT IGNORE INTO counters VALUES ('change', 0);

-- The promotion, without a transaction of its own: the caller's commit calls it inside its own.
-- 45001: the group has another version.  45002: the lease of another instance still runs.  45003: not promotable.
DROP PROCEDURE IF EXISTS promote_instance_to_primary_body;

CREATE PROCEDURE promote_instance_to_primary_body(
    IN p_instance_id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_agent_id varchar(129) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_version bigint,
    IN p_fenced varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_version bigint DEFAULT NULL;
    DECLARE v_locked integer;
    DECLARE v_running integer;
    DECLARE v_now_s double;
    SELECT coalesce(max(version), -1) INTO v_version FROM agents WHERE id = p_agent_id FOR UPDATE;
    IF v_version <> p_expected_version THEN
        SIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = 'the group has another version';
    END IF;
    SELECT count(*) INTO v_locked FROM (
        SELECT id FROM instances FORCE INDEX (idx_instances_agent_primary)
        WHERE agent_id = p_agent_id ORDER BY id FOR UPDATE) AS locked;
    SET v_now_s = UNIX_TIMESTAMP(NOW(6));
    SELECT count(*) INTO v_running FROM instances FORCE INDEX (idx_instances_agent_primary)
    WHERE agent_id = p_agent_id AND id <> p_instance_id AND id <> p_fenced AND lease_until_s > v_now_s
    FOR UPDATE;
    IF v_running > 0 THEN
        SIGNAL SQLSTATE '45002' SET MESSAGE_TEXT = 'the lease of another instance still runs';
    END IF;
    UPDATE instances FORCE INDEX (idx_instances_agent_primary) SET is_primary = false, instance_status = 'zombie', demoted_at = NOW(6),
        body = JSON_SET(body, '$.demoted_at_s', v_now_s)
    WHERE agent_id = p_agent_id AND is_primary AND id <> p_instance_id;
    UPDATE instances FORCE INDEX (idx_instances_agent_primary) SET is_primary = true, instance_status = 'promoting', version = version + 1
    WHERE agent_id = p_agent_id AND id = p_instance_id AND instance_status IN ('running_replica', 'demoting');
    IF ROW_COUNT() <> 1 THEN
        SIGNAL SQLSTATE '45003' SET MESSAGE_TEXT = 'no replica that can be promoted';
    END IF;
END;

-- The seed's procedure: one round trip, one transaction.  The server goes on from here as from its own promotion.
DROP PROCEDURE IF EXISTS promote_instance_to_primary;

CREATE PROCEDURE promote_instance_to_primary(
    IN p_instance_id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_agent_id varchar(129) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_version bigint
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_old varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_taking_over boolean DEFAULT false;
    DECLARE v_epoch bigint DEFAULT 0;
    DECLARE v_now_s double;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    SELECT coalesce(max(instance_id), ''), coalesce(max(taking_over), false), coalesce(max(epoch), 0) + 1
        INTO v_old, v_taking_over, v_epoch
    FROM agents WHERE id = p_agent_id FOR UPDATE;
    CALL promote_instance_to_primary_body(p_instance_id, p_agent_id, p_expected_version, '');
    IF v_taking_over THEN
        SIGNAL SQLSTATE '45003' SET MESSAGE_TEXT = 'a takeover is under way';
    END IF;
    SET v_now_s = UNIX_TIMESTAMP(NOW(6));
    UPDATE instances FORCE INDEX (idx_instances_agent_primary) SET epoch = v_epoch, goal_version = p_expected_version + 1 WHERE agent_id = p_agent_id;
    UPDATE counters SET n = n + 1 WHERE name = 'change';
    UPDATE agents SET version = p_expected_version + 1, epoch = v_epoch, instance_id = p_instance_id,
        commit_id = UUID(), taking_over = true, due_s = v_now_s,
        changed_n = (SELECT n FROM counters WHERE name = 'change'),
        body = JSON_SET(body, '$.takeover', JSON_OBJECT(
            'old', v_old, 'reason', 'promote_instance_to_primary', 'code', 'procedure',
            'candidate', p_instance_id, 'started_s', v_now_s + 0E0, 'fenced', JSON_EXTRACT('true', '$'),
            'fenced_s', v_now_s + 0E0))  -- a bare variable would become a text
    WHERE id = p_agent_id;
    INSERT INTO system_events (agent_id, version, n, commit_id, at_s, event_type, severity, about, message)
    SELECT id, version, 0, commit_id, v_now_s, 'promoting', 'info', p_instance_id, 'promote_instance_to_primary'
    FROM agents WHERE id = p_agent_id;
    COMMIT;
END;
