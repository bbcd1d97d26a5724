-- The tables of failover, by the names of the seeds: keys per client, and a primary that is unique in the schema.
CREATE TABLE clients (
    id varchar(64) COLLATE "C" PRIMARY KEY,
    name text NOT NULL DEFAULT '',
    launches_per_hour_max integer NOT NULL DEFAULT 20,
    requests_per_second_max integer NOT NULL DEFAULT 200,
    launches integer NOT NULL DEFAULT 0,
    launches_since_s double precision NOT NULL DEFAULT 0,
    created_s double precision NOT NULL DEFAULT 0
);

CREATE TABLE tokens (
    id varchar(64) COLLATE "C" PRIMARY KEY,
    kind varchar(16) NOT NULL,
    digest varchar(128) COLLATE "C" NOT NULL UNIQUE,
    client_id varchar(64) COLLATE "C" NOT NULL DEFAULT '',
    agent_id varchar(64) COLLATE "C" NOT NULL DEFAULT '',
    instance_id varchar(64) COLLATE "C" NOT NULL DEFAULT '',
    created_s double precision NOT NULL DEFAULT 0,
    expires_s double precision NOT NULL DEFAULT 0,
    ended boolean NOT NULL DEFAULT false,
    used boolean NOT NULL DEFAULT false,
    enrolment varchar(64) COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX idx_tokens_client ON tokens (client_id);

CREATE TABLE agents (
    id varchar(129) COLLATE "C" PRIMARY KEY,
    client_id varchar(64) COLLATE "C" NOT NULL,
    logical_agent_id varchar(64) COLLATE "C" NOT NULL,
    instance_id varchar(64) COLLATE "C",
    status varchar(16) NOT NULL DEFAULT 'offline' CHECK (status IN ('online', 'offline')),
    last_heartbeat_at timestamptz,
    version bigint,
    commit_id varchar(64) COLLATE "C" NOT NULL DEFAULT '',
    epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    mode varchar(16) NOT NULL DEFAULT 'auto_switch' CHECK (mode IN ('auto_switch', 'manual_replica', 'off')),
    auto_switch_enabled boolean GENERATED ALWAYS AS (mode = 'auto_switch') STORED,
    manual_replica_enabled boolean GENERATED ALWAYS AS (mode = 'manual_replica') STORED,
    auto_terminate_enabled boolean NOT NULL DEFAULT true,
    terminate_wait_seconds double precision NOT NULL DEFAULT 300,
    notice_status varchar(16) NOT NULL DEFAULT 'none'
        CHECK (notice_status IN ('none', 'rebalance', 'termination')),
    notice_received_at timestamptz,
    notice_deadline timestamptz,
    taking_over boolean NOT NULL DEFAULT false,
    due_s double precision NOT NULL DEFAULT 0,
    driver varchar(128) NOT NULL DEFAULT '',
    driver_until_s double precision NOT NULL DEFAULT 0,
    changed_n bigint NOT NULL DEFAULT 0,
    body json NOT NULL DEFAULT '{}',
    UNIQUE (client_id, logical_agent_id)
);
CREATE INDEX idx_agents_changed ON agents (changed_n);

-- No index on what a heartbeat changes: then an update stays within its page.
CREATE TABLE instances (
    client_id varchar(64) COLLATE "C" NOT NULL,
    id varchar(64) COLLATE "C" NOT NULL,
    agent_id varchar(129) COLLATE "C" NOT NULL,
    position integer,
    is_primary boolean NOT NULL DEFAULT false,
    instance_status varchar(32) NOT NULL CHECK (instance_status IN (
        'launching', 'running_replica', 'promoting', 'running_primary', 'demoting', 'zombie', 'terminating',
        'terminated')),
    version bigint NOT NULL DEFAULT 0,
    instance_type varchar(255) NOT NULL DEFAULT '',
    region varchar(255) NOT NULL DEFAULT '',
    az varchar(255) NOT NULL DEFAULT '',
    demoted_at timestamptz,
    terminated_at timestamptz,
    epoch bigint NOT NULL DEFAULT 0,
    session varchar(128) COLLATE "C" NOT NULL DEFAULT '',
    boot_id varchar(128) COLLATE "C" NOT NULL DEFAULT '',
    lease_until_s double precision NOT NULL DEFAULT 0,
    heartbeat_s double precision NOT NULL DEFAULT 0,
    paused_until_s double precision NOT NULL DEFAULT 0,
    goal_version bigint NOT NULL DEFAULT 0,
    report text NOT NULL DEFAULT '{}',
    body json NOT NULL DEFAULT '{}',
    PRIMARY KEY (client_id, id),
    CHECK (is_primary = (instance_status IN ('promoting', 'running_primary')))
) WITH (fillfactor = 70);
CREATE INDEX idx_instances_agent_primary ON instances (agent_id, is_primary, instance_status);
CREATE UNIQUE INDEX one_primary_per_agent ON instances (agent_id) WHERE is_primary;

CREATE TABLE replica_instances (
    client_id varchar(64) COLLATE "C" NOT NULL,
    id varchar(64) COLLATE "C" NOT NULL,
    agent_id varchar(129) COLLATE "C" NOT NULL,
    position integer,
    instance_id varchar(64) COLLATE "C" NOT NULL DEFAULT '',
    status varchar(16) NOT NULL
        CHECK (status IN ('launching', 'syncing', 'ready', 'promoted', 'terminated', 'failed')),
    emergency boolean NOT NULL DEFAULT false,
    promoted_at timestamptz,
    instance_type varchar(255) NOT NULL DEFAULT '',
    region varchar(255) NOT NULL DEFAULT '',
    az varchar(255) NOT NULL DEFAULT '',
    body json NOT NULL DEFAULT '{}',
    PRIMARY KEY (client_id, id)
);
CREATE INDEX idx_replicas_agent ON replica_instances (agent_id);

CREATE TABLE spot_pools (
    client_id varchar(64) COLLATE "C" NOT NULL,
    id varchar(129) COLLATE "C" NOT NULL,
    avg_boot_time_seconds double precision NOT NULL DEFAULT 0,
    boot_sample_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (client_id, id)
);

CREATE TABLE system_events (
    agent_id varchar(129) COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    n integer NOT NULL,
    commit_id varchar(64) COLLATE "C" NOT NULL,
    at_s double precision NOT NULL,
    event_type varchar(64) NOT NULL,
    severity varchar(16) NOT NULL,
    about text NOT NULL DEFAULT '',
    message text NOT NULL DEFAULT '',
    numbers text NOT NULL DEFAULT '{}',
    code varchar(64) NOT NULL DEFAULT '',
    PRIMARY KEY (agent_id, version, n)
);

CREATE TABLE requests (
    client_id varchar(64) COLLATE "C" NOT NULL,
    request_id varchar(128) COLLATE "C" NOT NULL,
    digest varchar(128) NOT NULL,
    commit_id varchar(64) NOT NULL,
    answer text NOT NULL,
    http_status integer NOT NULL,
    at_s double precision NOT NULL,
    PRIMARY KEY (client_id, request_id)
);
CREATE INDEX idx_requests_age ON requests (at_s);

CREATE TABLE counters (name varchar(16) PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counters VALUES ('change', 0);

-- The promotion, without a transaction of its own: the caller's commit calls it inside its own.
-- 45001: the group has another version.  45002: the lease of another instance still runs.  45003: not promotable.
CREATE FUNCTION promote_instance_to_primary_body(
    p_instance_id text, p_agent_id text, p_expected_version bigint, p_fenced text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_version bigint;
    v_other text;
BEGIN
    SELECT coalesce(version, -1) INTO v_version FROM agents WHERE id = p_agent_id FOR UPDATE;
    IF v_version IS NULL OR v_version <> p_expected_version THEN
        RAISE EXCEPTION '%: version % is stored, not %', p_agent_id, v_version, p_expected_version
            USING ERRCODE = '45001';
    END IF;
    PERFORM 1 FROM instances WHERE agent_id = p_agent_id ORDER BY id FOR UPDATE;
    SELECT id INTO v_other FROM instances
    WHERE agent_id = p_agent_id AND id <> p_instance_id AND id <> p_fenced
        AND lease_until_s > extract(epoch FROM clock_timestamp())
    ORDER BY id LIMIT 1;
    IF v_other IS NOT NULL THEN
        RAISE EXCEPTION '%: the lease of % still runs', p_agent_id, v_other USING ERRCODE = '45002';
    END IF;
    UPDATE instances SET is_primary = false, instance_status = 'zombie', demoted_at = clock_timestamp(),
        body = jsonb_set(body::jsonb, '{demoted_at_s}', to_jsonb(extract(epoch FROM clock_timestamp())))::json
    WHERE agent_id = p_agent_id AND is_primary AND id <> p_instance_id;
    UPDATE instances SET is_primary = true, instance_status = 'promoting', version = version + 1
    WHERE agent_id = p_agent_id AND id = p_instance_id AND instance_status IN ('running_replica', 'demoting');
    IF NOT FOUND THEN
        RAISE EXCEPTION '%: % is no replica that can be promoted', p_agent_id, p_instance_id
            USING ERRCODE = '45003';
    END IF;
END $$;

-- The seed's procedure: one round trip, one transaction.  The server goes on from here as from its own promotion.
CREATE PROCEDURE promote_instance_to_primary(
    p_instance_id text, p_agent_id text, p_expected_version bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_old text;
    v_taking_over boolean;
    v_epoch bigint;
    v_n bigint;
    v_now_s double precision := extract(epoch FROM clock_timestamp());
BEGIN
    SELECT instance_id, taking_over, epoch + 1 INTO v_old, v_taking_over, v_epoch
    FROM agents WHERE id = p_agent_id FOR UPDATE;
    PERFORM promote_instance_to_primary_body(p_instance_id, p_agent_id, p_expected_version, '');
    IF v_taking_over THEN
        RAISE EXCEPTION '%: a takeover is under way', p_agent_id USING ERRCODE = '45003';
    END IF;
    UPDATE instances SET epoch = v_epoch, goal_version = p_expected_version + 1 WHERE agent_id = p_agent_id;
    UPDATE counters SET n = n + 1 WHERE name = 'change' RETURNING n INTO v_n;
    UPDATE agents SET version = p_expected_version + 1, epoch = v_epoch, instance_id = p_instance_id,
        commit_id = gen_random_uuid()::text, taking_over = true, due_s = v_now_s, changed_n = v_n,
        body = jsonb_set(body::jsonb, '{takeover}', jsonb_build_object(
            'old', coalesce(v_old, ''), 'reason', 'promote_instance_to_primary', 'code', 'procedure',
            'candidate', p_instance_id, 'started_s', v_now_s, 'fenced', true, 'fenced_s', v_now_s))::json
    WHERE id = p_agent_id;
    INSERT INTO system_events (agent_id, version, n, commit_id, at_s, event_type, severity, about, message)
    SELECT id, version, 0, commit_id, v_now_s, 'promoting', 'info', p_instance_id, 'promote_instance_to_primary'
    FROM agents WHERE id = p_agent_id;
END $$;
