-- The tables of failover, by the names of the seeds: keys per client, and a primary that is unique in the schema.
ALTER TABLE agents RENAME TO first_agents;
ALTER TABLE instances RENAME TO first_instances;
DROP INDEX idx_instances_agent_primary;
DROP INDEX one_primary_per_agent;

CREATE TABLE clients (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL DEFAULT '',
    launches_per_hour_max INTEGER NOT NULL DEFAULT 20,
    requests_per_second_max INTEGER NOT NULL DEFAULT 200,
    launches INTEGER NOT NULL DEFAULT 0,          -- taken since then
    launches_since_s REAL NOT NULL DEFAULT 0,
    created_s REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    client_id TEXT NOT NULL DEFAULT '',
    agent_id TEXT NOT NULL DEFAULT '',
    instance_id TEXT NOT NULL DEFAULT '',
    created_s REAL NOT NULL DEFAULT 0,
    expires_s REAL NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0,              -- of an agent's: it has been shown at least once
    enrolment TEXT NOT NULL DEFAULT ''            -- of an agent's: the id of the token that it was issued for
) WITHOUT ROWID;
CREATE INDEX idx_tokens_client ON tokens (client_id);

CREATE TABLE agents (
    id TEXT PRIMARY KEY,                          -- client_id/logical_agent_id
    client_id TEXT NOT NULL,
    logical_agent_id TEXT NOT NULL,
    instance_id TEXT,                             -- the primary
    status TEXT NOT NULL DEFAULT 'offline' CHECK (status IN ('online', 'offline')),
    last_heartbeat_at TEXT,
    version INTEGER,                              -- NULL: written by something that knows no versions
    commit_id TEXT NOT NULL DEFAULT '',
    epoch INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    mode TEXT NOT NULL DEFAULT 'auto_switch' CHECK (mode IN ('auto_switch', 'manual_replica', 'off')),
    auto_switch_enabled INTEGER GENERATED ALWAYS AS (mode = 'auto_switch') VIRTUAL,
    manual_replica_enabled INTEGER GENERATED ALWAYS AS (mode = 'manual_replica') VIRTUAL,
    auto_terminate_enabled INTEGER NOT NULL DEFAULT 1,
    terminate_wait_seconds REAL NOT NULL DEFAULT 300,
    notice_status TEXT NOT NULL DEFAULT 'none' CHECK (notice_status IN ('none', 'rebalance', 'termination')),
    notice_received_at TEXT,
    notice_deadline TEXT,
    taking_over INTEGER NOT NULL DEFAULT 0,
    due_s REAL NOT NULL DEFAULT 0,
    driver TEXT NOT NULL DEFAULT '',
    driver_until_s REAL NOT NULL DEFAULT 0,
    changed_n INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL DEFAULT '{}',
    UNIQUE (client_id, logical_agent_id)
) WITHOUT ROWID;
CREATE INDEX idx_agents_changed ON agents (changed_n);

CREATE TABLE instances (
    client_id TEXT NOT NULL,
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    position INTEGER,                             -- NULL: no longer in the record
    is_primary INTEGER NOT NULL DEFAULT 0,
    instance_status TEXT NOT NULL CHECK (instance_status IN (
        'launching', 'running_replica', 'promoting', 'running_primary', 'demoting', 'zombie', 'terminating',
        'terminated')),
    version INTEGER NOT NULL DEFAULT 0,
    instance_type TEXT NOT NULL DEFAULT '',
    region TEXT NOT NULL DEFAULT '',
    az TEXT NOT NULL DEFAULT '',
    demoted_at TEXT,
    terminated_at TEXT,
    -- The guard of the lease stands in the row of the lease: epoch, is_primary, session.
    epoch INTEGER NOT NULL DEFAULT 0,
    session TEXT NOT NULL DEFAULT '',
    boot_id TEXT NOT NULL DEFAULT '',
    lease_until_s REAL NOT NULL DEFAULT 0,
    heartbeat_s REAL NOT NULL DEFAULT 0,          -- 0: never heard of
    paused_until_s REAL NOT NULL DEFAULT 0,
    goal_version INTEGER NOT NULL DEFAULT 0,
    report TEXT NOT NULL DEFAULT '{}',
    body TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (client_id, id),
    CHECK (is_primary = (instance_status IN ('promoting', 'running_primary')))
) WITHOUT ROWID;
CREATE INDEX idx_instances_agent_primary ON instances (agent_id, is_primary, instance_status);
CREATE UNIQUE INDEX one_primary_per_agent ON instances (agent_id) WHERE is_primary;

CREATE TABLE replica_instances (
    client_id TEXT NOT NULL,
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    position INTEGER,                             -- NULL: no longer in the record
    instance_id TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL CHECK (status IN ('launching', 'syncing', 'ready', 'promoted', 'terminated', 'failed')),
    emergency INTEGER NOT NULL DEFAULT 0,
    promoted_at TEXT,
    instance_type TEXT NOT NULL DEFAULT '',
    region TEXT NOT NULL DEFAULT '',
    az TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (client_id, id)
) WITHOUT ROWID;
CREATE INDEX idx_replicas_agent ON replica_instances (agent_id);

CREATE TABLE spot_pools (
    client_id TEXT NOT NULL,
    id TEXT NOT NULL,                             -- type.zone
    avg_boot_time_seconds REAL NOT NULL DEFAULT 0,
    boot_sample_count INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (client_id, id)
) WITHOUT ROWID;

CREATE TABLE system_events (
    agent_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    n INTEGER NOT NULL,
    commit_id TEXT NOT NULL,
    at_s REAL NOT NULL,
    event_type TEXT NOT NULL,
    severity TEXT NOT NULL,
    about TEXT NOT NULL DEFAULT '',
    message TEXT NOT NULL DEFAULT '',
    numbers TEXT NOT NULL DEFAULT '{}',
    code TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (agent_id, version, n)
) WITHOUT ROWID;

CREATE TABLE requests (
    client_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    answer TEXT NOT NULL,
    http_status INTEGER NOT NULL,
    at_s REAL NOT NULL,
    PRIMARY KEY (client_id, request_id)
) WITHOUT ROWID;
CREATE INDEX idx_requests_age ON requests (at_s);

CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counters VALUES ('change', 0);

-- The clock of the machine that holds this file, and the boot in which it was set.
CREATE TABLE clock (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    boot_id TEXT NOT NULL,
    offset_s REAL NOT NULL
);

-- Groups of before had no client.
INSERT INTO clients (id, name) SELECT 'default', 'default' WHERE EXISTS (SELECT 1 FROM first_agents);

INSERT INTO agents (id, client_id, logical_agent_id, instance_id, version, commit_id, epoch, taking_over, body)
SELECT 'default/' || id, 'default', id,
    (SELECT i.id FROM first_instances AS i WHERE i.agent_id = a.id AND i.is_primary),
    version, commit_id, epoch, takeover_old IS NOT NULL,
    json_object(
        'created_s', since_s,
        'served_epoch', CASE WHEN takeover_old IS NULL THEN epoch ELSE epoch - 1 END,
        'takeover', CASE WHEN takeover_old IS NULL THEN NULL ELSE json_object(
            'old', takeover_old, 'reason', takeover_reason, 'code', 'migrated', 'started_s', takeover_started_s,
            'fenced', json(CASE WHEN takeover_fenced THEN 'true' ELSE 'false' END)) END)
FROM first_agents AS a;

INSERT INTO instances
    (client_id, id, agent_id, position, is_primary, instance_status, epoch, lease_until_s, heartbeat_s,
    goal_version, body)
SELECT 'default', i.id, 'default/' || i.agent_id,
    CASE WHEN i.instance_status = 'terminated' THEN NULL ELSE i.position END,
    i.is_primary, i.instance_status, a.epoch, i.lease_until_s, max(0, i.lease_until_s - 60),
    coalesce(a.version, 0),
    json_object('since_s', a.since_s)
FROM first_instances AS i JOIN first_agents AS a ON a.id = i.agent_id;

INSERT INTO system_events
    (agent_id, version, n, commit_id, at_s, event_type, severity, about, message, numbers, code)
SELECT 'default/' || subject, version, n, commit_id, at_s, kind, 'info', about, reason, numbers, code
FROM events WHERE collection = 'agents';
DELETE FROM events WHERE collection = 'agents';

DROP TABLE first_agents;
DROP TABLE first_instances;
