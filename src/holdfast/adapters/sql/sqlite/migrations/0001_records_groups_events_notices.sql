-- One row a record.  The body is the flat item, under the names that people know.
CREATE TABLE IF NOT EXISTS records (
    collection TEXT NOT NULL,
    subject TEXT NOT NULL,
    version INTEGER,             -- NULL: written by something that knows no versions
    commit_id TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL,
    PRIMARY KEY (collection, subject)
) WITHOUT ROWID;

-- Groups are rows of their own, so that the database itself refuses a second primary.
CREATE TABLE IF NOT EXISTS agents (
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

CREATE TABLE IF NOT EXISTS instances (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    position INTEGER NOT NULL,   -- candidates are tried in this order
    is_primary INTEGER NOT NULL DEFAULT 0,
    instance_status TEXT NOT NULL,
    ready INTEGER NOT NULL DEFAULT 0,
    lease_until_s REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS idx_instances_agent_primary
    ON instances (agent_id, is_primary, instance_status);
CREATE UNIQUE INDEX IF NOT EXISTS one_primary_per_agent
    ON instances (agent_id) WHERE is_primary;

-- Written in the transaction of the record that they tell of, and never again.
CREATE TABLE IF NOT EXISTS events (
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

-- Notices that wait until they are folded into the cluster's record.
CREATE TABLE IF NOT EXISTS notices (
    key TEXT PRIMARY KEY,
    instance_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_s INTEGER NOT NULL,
    deadline_s INTEGER NOT NULL
) WITHOUT ROWID;
