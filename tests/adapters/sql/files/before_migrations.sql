-- What a release without numbered migrations wrote: SQLite's own dump of its file, word for word.
BEGIN TRANSACTION;
CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    version INTEGER,
    commit_id TEXT NOT NULL DEFAULT '',
    epoch INTEGER NOT NULL DEFAULT 0,
    since_s REAL NOT NULL DEFAULT 0,
    takeover_old TEXT,           -- NULL outside a takeover, like the columns below
    takeover_reason TEXT,
    takeover_started_s REAL,
    takeover_asked INTEGER,
    takeover_fenced INTEGER
) WITHOUT ROWID;
INSERT INTO "agents" VALUES('agent-1',1,'commit-1',1,1767225600.0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE events (
    collection TEXT NOT NULL,
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    n INTEGER NOT NULL,
    commit_id TEXT NOT NULL,
    at_s REAL NOT NULL,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    reason TEXT NOT NULL,
    numbers TEXT NOT NULL,
    PRIMARY KEY (collection, subject, version, n)
) WITHOUT ROWID;
INSERT INTO "events" VALUES('agents','agent-1',1,0,'commit-1',1767225600.0,'groupCreated','agent-1','','{}');
INSERT INTO "events" VALUES('cluster_state','cluster',1,0,'commit-1',1767225600.0,'observed','','three workers','{"workers": 3}');
INSERT INTO "events" VALUES('cluster_state','cluster',2,0,'commit-2',1767225660.0,'scaleUpStarted','1767225600-req','pods wait','{"requested": 2}');
INSERT INTO "events" VALUES('cluster_state','cluster',2,1,'commit-2',1767225660.0,'launchIntended','0/1','spot/m5.large/us-east-1a','{"count": 2}');
INSERT INTO "events" VALUES('orders_meta','billing_coordinator',1,0,'commit-1',1767225600.0,'capAgreed','billing','30 shards, 4 workers','{"cap": 8}');
CREATE TABLE instances (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    position INTEGER NOT NULL,   -- candidates are tried in this order
    is_primary INTEGER NOT NULL DEFAULT 0,
    instance_status TEXT NOT NULL,
    ready INTEGER NOT NULL DEFAULT 0,
    lease_until_s REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO "instances" VALUES('i-a','agent-1',0,1,'running_primary',1,1767225630.3);
INSERT INTO "instances" VALUES('i-b','agent-1',1,0,'running_replica',1,0.0);
CREATE TABLE notices (
    key TEXT PRIMARY KEY,
    instance_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_s INTEGER NOT NULL,
    deadline_s INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "notices" VALUES('i-0001#interruption','i-0001','interruption',1767225690,1767225810);
INSERT INTO "notices" VALUES('i-0002#rebalance','i-0002','rebalance',1767225695,0);
CREATE TABLE records (
    collection TEXT NOT NULL,
    subject TEXT NOT NULL,
    version INTEGER,             -- NULL: written by something that knows no versions
    commit_id TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL,
    PRIMARY KEY (collection, subject)
) WITHOUT ROWID;
INSERT INTO "records" VALUES('cluster_state','cluster',2,'commit-2','{"schema": 1, "scalingInProgress": true, "lastScaleEpoch": 0, "pendingSinceEpoch": 0, "idleSinceEpoch": 0, "workerCount": 3, "lockOwner": "", "lockUntilEpoch": 0.0, "scaleUpActionId": "1767225600-req", "scaleUpStartedEpoch": 1767225660, "scaleUpRequested": 2, "scaleUpInstanceIds": [], "scaleUpReason": "pods wait", "scaleUpLaunches": {"000.001": {"group": 0, "attempt": 1, "pool": "default", "zone": "us-east-1a", "subnet": "subnet-a", "market": "spot", "type": "m5.large", "template": "lt-1", "templateVersion": 3, "count": 2, "status": "intended", "instances": "", "reason": "", "at": 1767225600, "bound": 0, "extended": 0}}}');
INSERT INTO "records" VALUES('orders_meta','billing_coordinator',1,'commit-1','{"max_leases_per_worker": 8, "shard_count": 30, "worker_count": 4}');
INSERT INTO "records" VALUES('orders_meta','worker-1',0,'','{"max_leases_per_worker": 8, "shard_count": 30, "worker_count": 4, "app_name": "billing", "last_update_s": 1767225600.0}');
CREATE INDEX idx_instances_agent_primary
    ON instances (agent_id, is_primary, instance_status);
CREATE UNIQUE INDEX one_primary_per_agent
    ON instances (agent_id) WHERE is_primary;
COMMIT;
