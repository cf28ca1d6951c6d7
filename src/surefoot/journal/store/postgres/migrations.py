"""The migrations of the database: SQL in a list, applied in order, never changed once released.

All tables are in the schema `surefoot`, so that a database can be shared with other programs.
"""

import time
from typing import TYPE_CHECKING

from surefoot._version import __version__
from surefoot.config.storage import shown_database
from surefoot.errors import JournalBroken, JournalVersion

if TYPE_CHECKING:
    from surefoot.journal.store.postgres.connection import Connection

LOCK = 0x53464A4C
"""The advisory lock of migrations ("SFJL"), so that one process at a time migrates."""
STALE, EXISTS = "SF001", "SF002"
"""The SQLSTATEs of our own functions: the caller does not own the run; a run with this id exists."""

_CREATE_TABLES = """
CREATE TABLE surefoot.runs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    task text NOT NULL,
    workspace text NOT NULL,
    model text NOT NULL,
    created_at double precision NOT NULL,
    crc bigint NOT NULL,
    stage text NOT NULL DEFAULT '',
    verdict text,
    standing integer NOT NULL DEFAULT 1,
    last integer NOT NULL DEFAULT 0,
    updated_at double precision NOT NULL,
    fence bigint NOT NULL,
    owner text NOT NULL,
    lease_until timestamptz
) WITH (fillfactor = 50);
COMMENT ON COLUMN surefoot.runs.standing IS 'the number of the event since which stage and verdict stand there';
COMMENT ON COLUMN surefoot.runs.last IS 'the number of the last event';
COMMENT ON COLUMN surefoot.runs.fence IS 'grows with every owner; an append with another number is refused';
COMMENT ON COLUMN surefoot.runs.lease_until IS 'until then nobody else may own the run; NULL: it was released';

CREATE TABLE surefoot.events (
    run bigint NOT NULL REFERENCES surefoot.runs,
    seq integer NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL,
    crc bigint NOT NULL,
    fence bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE surefoot.blobs (
    digest bytea PRIMARY KEY,
    codec text NOT NULL,
    body bytea
);
ALTER TABLE surefoot.blobs ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON COLUMN surefoot.blobs.body IS 'NULL: it is in the object store';

CREATE TABLE surefoot.inbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run bigint NOT NULL REFERENCES surefoot.runs,
    crc bigint NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX inbox_of_run ON surefoot.inbox (run, id);
"""

_CREATE_FUNCTIONS = f"""
CREATE FUNCTION surefoot.append(
    p_run bigint, p_fence bigint, p_last integer, p_lease double precision,
    p_stage text, p_verdict text, p_standing integer,
    p_at double precision[], p_kind text[], p_crc bigint[], p_body bytea[], p_acknowledged bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The row stays locked until the end of the transaction, so a takeover comes before all of this or after all of it.
    UPDATE surefoot.runs SET
        last = p_last + cardinality(p_at),
        updated_at = coalesce(p_at[cardinality(p_at)], updated_at),
        lease_until = clock_timestamp() + make_interval(secs => p_lease),
        stage = CASE WHEN p_standing IS NULL THEN stage ELSE p_stage END,
        verdict = CASE WHEN p_standing IS NULL THEN verdict ELSE p_verdict END,
        standing = coalesce(p_standing, standing)
    WHERE number = p_run AND fence = p_fence AND last = p_last;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % is not at event % with fence %', p_run, p_last, p_fence USING ERRCODE = '{STALE}';
    END IF;
    INSERT INTO surefoot.events (run, seq, at, kind, crc, fence, body)
    SELECT p_run, p_last + n, e.at, e.kind, e.crc, p_fence, e.body
    FROM unnest(p_at, p_kind, p_crc, p_body) WITH ORDINALITY AS e(at, kind, crc, body, n);
    IF cardinality(p_acknowledged) > 0 THEN
        DELETE FROM surefoot.inbox WHERE id = ANY(p_acknowledged) AND run = p_run;
    END IF;
END $$;

CREATE FUNCTION surefoot.create_run(
    p_run_id text, p_task text, p_workspace text, p_model text, p_created_at double precision, p_crc bigint,
    p_owner text, p_lease double precision, p_stage text, p_verdict text, p_standing integer,
    p_at double precision[], p_kind text[], p_event_crc bigint[], p_body bytea[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    created bigint;
BEGIN
    INSERT INTO surefoot.runs (run_id, task, workspace, model, created_at, crc, updated_at, fence, owner)
    VALUES (p_run_id, p_task, p_workspace, p_model, p_created_at, p_crc, p_created_at, 1, p_owner)
    ON CONFLICT (run_id) DO NOTHING RETURNING number INTO created;
    IF created IS NULL THEN
        RAISE EXCEPTION 'run % exists', p_run_id USING ERRCODE = '{EXISTS}';
    END IF;
    PERFORM surefoot.append(
        created, 1, 0, p_lease, p_stage, p_verdict, p_standing, p_at, p_kind, p_event_crc, p_body, '{{}}'
    );
    RETURN created;
END $$;
"""

_CREATE_CALLS = """
CREATE TABLE surefoot.calls (
    id text PRIMARY KEY,
    provider text NOT NULL,
    started timestamptz NOT NULL,
    until timestamptz NOT NULL,
    ended boolean NOT NULL DEFAULT false,
    tokens bigint NOT NULL
);
CREATE INDEX calls_of_provider ON surefoot.calls (provider, started);
COMMENT ON TABLE surefoot.calls IS 'calls of models that are in progress or began in the last minute';

CREATE FUNCTION surefoot.begin_call(
    p_provider text, p_id text, p_calls integer, p_tokens_per_minute bigint, p_tokens bigint, p_lease double precision,
    p_window double precision
) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz;
    since timestamptz;
    taken bigint;
    oldest timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('surefoot.calls of ' || p_provider, 0));
    -- Asked again because the connection was lost after the answer.
    IF EXISTS (SELECT FROM surefoot.calls WHERE id = p_id) THEN
        RETURN 0;
    END IF;
    at := clock_timestamp();
    since := at - make_interval(secs => p_window);
    DELETE FROM surefoot.calls WHERE provider = p_provider AND started <= since AND (ended OR until <= at);
    IF p_calls IS NOT NULL AND p_calls <= (
        SELECT count(*) FROM surefoot.calls WHERE provider = p_provider AND NOT ended AND until > at
    ) THEN
        RETURN 0.001;
    END IF;
    SELECT coalesce(sum(tokens), 0), min(started) INTO taken, oldest
        FROM surefoot.calls WHERE provider = p_provider AND started > since;
    IF p_tokens_per_minute IS NOT NULL AND taken + p_tokens > p_tokens_per_minute THEN
        RETURN greatest(extract(epoch FROM coalesce(oldest, at) - since)::double precision, 0.001);
    END IF;
    INSERT INTO surefoot.calls (id, provider, started, until, tokens)
        VALUES (p_id, p_provider, at, at + make_interval(secs => p_lease), p_tokens);
    RETURN 0;
END $$;
"""

MIGRATIONS: tuple[tuple[str, str], ...] = (
    ("create_tables", _CREATE_TABLES + _CREATE_FUNCTIONS),
    ("create_calls", _CREATE_CALLS),
)


def schema_of(connection: "Connection", url: str) -> int:
    """The number of migrations applied to the database; 0 if there is no journal yet."""
    row = connection.execute(
        "SELECT to_regclass('surefoot.migrations') IS NOT NULL, "
        "EXISTS (SELECT FROM pg_tables WHERE schemaname = 'surefoot')"
    ).fetchone()
    has_migrations, has_tables = row or (False, False)
    if not has_migrations:
        if has_tables:
            raise JournalBroken(
                f"the schema `surefoot` in {shown_database(url)} belongs to another program",
                remedy="use another database for the journal",
            )
        return 0
    rows = connection.execute("SELECT number, surefoot FROM surefoot.migrations ORDER BY number").fetchall()
    if len(rows) > len(MIGRATIONS):
        raise JournalVersion(
            f"the journal in {shown_database(url)} was written by Surefoot {rows[-1][1]} (schema {len(rows)}); "
            f"this is {__version__}, which supports schemas up to {len(MIGRATIONS)}",
            remedy="upgrade Surefoot, in the way you installed it, to that version or a newer one",
        )
    return len(rows)


def migrate(connection: "Connection", url: str) -> None:
    """Migrate the database to the current schema in one transaction. One process does it, others wait."""
    if schema_of(connection, url) == len(MIGRATIONS):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        old = schema_of(connection, url)
        if old == 0:
            connection.execute("CREATE SCHEMA IF NOT EXISTS surefoot")
            connection.execute(
                "CREATE TABLE surefoot.migrations "
                "(number integer PRIMARY KEY, name text, applied_at double precision, surefoot text)"
            )
        for number, (name, sql) in enumerate(MIGRATIONS[old:], old + 1):
            connection.execute(sql.encode())
            connection.execute(
                "INSERT INTO surefoot.migrations VALUES (%s, %s, %s, %s)", (number, name, time.time(), __version__)
            )
