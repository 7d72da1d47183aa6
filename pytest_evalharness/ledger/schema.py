"""The tables, as migrations: never change one that was released, add one."""

from __future__ import annotations

from pytest_evalharness.base.database import Migration
from pytest_evalharness.ledger.documents import bring_up

_FIRST = """
CREATE TABLE probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    written_at REAL NOT NULL,
    padding BLOB NOT NULL
);
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    created_at REAL NOT NULL,
    info_json TEXT NOT NULL
);
CREATE TABLE comparisons (
    comparison_id TEXT PRIMARY KEY,
    plan_key TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    fresh INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    case_name TEXT NOT NULL,
    plan_json TEXT NOT NULL,
    frozen_json TEXT,
    created_at REAL NOT NULL,
    UNIQUE (plan_key, attempt)
);
CREATE UNIQUE INDEX one_fresh_attempt_a_run ON comparisons (plan_key, run_id) WHERE fresh = 1;
CREATE TABLE arms (
    arm_key TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    spec_json TEXT NOT NULL,
    created_at REAL NOT NULL
);
CREATE TABLE comparison_arms (
    comparison_id TEXT NOT NULL REFERENCES comparisons,
    side TEXT NOT NULL,
    arm_key TEXT NOT NULL REFERENCES arms,
    PRIMARY KEY (comparison_id, side)
);
CREATE TABLE blocks (
    block_id TEXT PRIMARY KEY,
    arm_key TEXT NOT NULL REFERENCES arms,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    token TEXT NOT NULL UNIQUE,
    idempotency_key TEXT NOT NULL UNIQUE,
    body_json TEXT NOT NULL,
    request_id TEXT,
    error_json TEXT,
    progress_json TEXT,
    evidence_json TEXT,
    ended_session TEXT,
    lease TEXT,
    owner_json TEXT,
    heartbeat_at REAL,
    created_at REAL NOT NULL,
    posted_at REAL,
    accepted_at REAL,
    running_at REAL,
    finished_at REAL,
    UNIQUE (arm_key, position),
    CHECK ((lease IS NULL) = (owner_json IS NULL))
);
CREATE TABLE verdicts (
    verdict_id INTEGER PRIMARY KEY AUTOINCREMENT,
    comparison_id TEXT NOT NULL REFERENCES comparisons,
    run_id TEXT NOT NULL,
    judgement_json TEXT NOT NULL,
    recorded_at REAL NOT NULL
);
CREATE INDEX verdicts_of_a_comparison ON verdicts (comparison_id);
CREATE TABLE once (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('producing', 'done')),
    lease TEXT,
    owner_json TEXT,
    heartbeat_at REAL,
    value_json TEXT,
    PRIMARY KEY (kind, key)
)
"""

_SECOND = """
ALTER TABLE comparisons ADD COLUMN question_key TEXT;
ALTER TABLE comparisons ADD COLUMN family_id TEXT;
CREATE INDEX comparisons_of_a_question ON comparisons (question_key);
CREATE TABLE declarations (
    question_key TEXT NOT NULL,
    digest TEXT NOT NULL,
    declaration_json TEXT NOT NULL,
    run_id TEXT NOT NULL,
    declared_at REAL NOT NULL,
    PRIMARY KEY (question_key, digest)
);
CREATE TABLE looks (
    look_id INTEGER PRIMARY KEY AUTOINCREMENT,
    comparison_id TEXT NOT NULL REFERENCES comparisons,
    position INTEGER,
    decided INTEGER NOT NULL,
    seen_json TEXT NOT NULL,
    run_id TEXT NOT NULL,
    looked_at REAL NOT NULL
);
CREATE UNIQUE INDEX a_planned_look_is_taken_once ON looks (comparison_id, position) WHERE position IS NOT NULL;
CREATE TABLE families (
    family_id TEXT PRIMARY KEY,
    members_json TEXT NOT NULL,
    fixed_at REAL NOT NULL
)
"""

_FOURTH = """
CREATE TABLE campaigns (
    name TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    told_json TEXT NOT NULL,
    identity_json TEXT NOT NULL,
    progress_json TEXT,
    lease TEXT,
    owner_json TEXT,
    heartbeat_at REAL,
    created_at REAL NOT NULL,
    CHECK ((lease IS NULL) = (owner_json IS NULL))
);
CREATE TABLE campaign_starts (
    name TEXT NOT NULL REFERENCES campaigns,
    number INTEGER NOT NULL,
    token TEXT NOT NULL UNIQUE,
    argv_json TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER,
    started TEXT,
    began_at REAL NOT NULL,
    ended_at REAL,
    exit_code INTEGER,
    PRIMARY KEY (name, number)
);
CREATE TABLE campaign_processes (
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    told_json TEXT NOT NULL,
    seen_at REAL NOT NULL,
    PRIMARY KEY (host, pid, started),
    FOREIGN KEY (name, number) REFERENCES campaign_starts
);
CREATE INDEX processes_of_a_campaign ON campaign_processes (name, number);
CREATE TABLE campaign_events (
    event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL REFERENCES campaigns,
    kind TEXT NOT NULL,
    told_json TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX events_of_a_campaign ON campaign_events (name, event_id)
"""

MIGRATIONS: tuple[Migration, ...] = (_FIRST, _SECOND, bring_up, _FOURTH)
"""Their number is the version of the schema. `tests/golden/ledger/` has a ledger of every earlier one."""
