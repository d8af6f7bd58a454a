-- Version 1. Rows are `record` documents of windlass-model, as in the SQLite store; other columns are there to find
-- them, and to hold what belongs together. Names of tables have no schema: the connection's search path has it.

-- The store itself: one row. Whoever adds events holds it until the end of the transaction, so that their numbers have
-- neither holes nor another order than the commits.
CREATE TABLE store (
    one       BOOLEAN NOT NULL PRIMARY KEY DEFAULT TRUE CHECK (one),
    version   INTEGER NOT NULL,
    id        TEXT    NOT NULL,
    created   BIGINT  NOT NULL,  -- milliseconds since 1970, as every time here
    key_check BYTEA   NOT NULL,  -- something known, sealed: tells a wrong key
    reserved  BIGINT  NOT NULL   -- the last process id given out
);
CREATE TABLE feed (
    one  BOOLEAN NOT NULL PRIMARY KEY DEFAULT TRUE CHECK (one),
    last BIGINT  NOT NULL        -- the number of the last event
);
INSERT INTO feed (last) VALUES (0);

-- The last epoch of each assembly's lease; the holder is null when the lease was given back.
CREATE TABLE lease (
    scope   TEXT   NOT NULL PRIMARY KEY,
    epoch   BIGINT NOT NULL,
    holder  TEXT,
    since   BIGINT NOT NULL,
    renewed BIGINT NOT NULL
);

-- What goes with its assembly.

CREATE TABLE assembly (
    name   TEXT NOT NULL PRIMARY KEY,
    record TEXT NOT NULL
);
CREATE TABLE element (
    name     TEXT NOT NULL PRIMARY KEY,
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    record   TEXT NOT NULL
);
CREATE INDEX element_of_assembly ON element (assembly);
CREATE TABLE instance (
    element  TEXT NOT NULL PRIMARY KEY,
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    record   TEXT NOT NULL
);
CREATE INDEX instance_of_assembly ON instance (assembly);
CREATE TABLE pair (
    element      TEXT NOT NULL,
    relationship TEXT NOT NULL,
    source       TEXT NOT NULL,
    target       TEXT NOT NULL,
    assembly     TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    record       TEXT NOT NULL,
    PRIMARY KEY (element, relationship, source, target)
);
CREATE INDEX pair_of_assembly ON pair (assembly);
CREATE TABLE secret (
    id       TEXT  NOT NULL PRIMARY KEY,
    assembly TEXT  NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    sealed   BYTEA NOT NULL
);
CREATE INDEX secret_of_assembly ON secret (assembly);

-- Packages: once each, however many assemblies pin them.

CREATE TABLE package (
    digest   TEXT NOT NULL PRIMARY KEY,
    name     TEXT NOT NULL,
    manifest TEXT NOT NULL
);
CREATE TABLE package_file (
    package    TEXT    NOT NULL REFERENCES package (digest) ON DELETE CASCADE,
    path       TEXT    NOT NULL,
    executable BOOLEAN NOT NULL,
    content    BYTEA   NOT NULL,
    PRIMARY KEY (package, path)
);
CREATE TABLE pin (
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    package  TEXT NOT NULL REFERENCES package (digest),
    PRIMARY KEY (assembly, package)
);
CREATE INDEX pin_of_package ON pin (package);

-- What stays when the assembly goes. A step has many calls, a call many jobs, and a job serves many calls.

CREATE TABLE process (
    id       BIGINT  NOT NULL PRIMARY KEY,
    assembly TEXT    NOT NULL,
    open     BOOLEAN NOT NULL,
    record   TEXT    NOT NULL
);
CREATE INDEX process_of_assembly ON process (assembly);
CREATE TABLE step (
    process BIGINT NOT NULL REFERENCES process (id),
    step    BIGINT NOT NULL,
    record  TEXT   NOT NULL,
    PRIMARY KEY (process, step)
);
CREATE TABLE call (
    place   BIGINT  NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,  -- the order of first recording
    id      TEXT    NOT NULL UNIQUE,
    process BIGINT  NOT NULL,
    step    BIGINT  NOT NULL,
    open    BOOLEAN NOT NULL,
    record  TEXT    NOT NULL,
    FOREIGN KEY (process, step) REFERENCES step (process, step)
);
CREATE INDEX call_of_step ON call (process, step);
CREATE INDEX call_open ON call (process) WHERE open;
CREATE TABLE job (
    place  BIGINT NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,  -- the order of first recording
    id     TEXT   NOT NULL UNIQUE,
    record TEXT   NOT NULL
);
CREATE TABLE job_call (
    job  TEXT NOT NULL REFERENCES job (id),
    call TEXT NOT NULL REFERENCES call (id),
    PRIMARY KEY (job, call)
);
CREATE INDEX job_call_of_call ON job_call (call);

CREATE TABLE version (
    process  BIGINT NOT NULL PRIMARY KEY REFERENCES process (id),
    assembly TEXT   NOT NULL,
    record   TEXT   NOT NULL
);
CREATE INDEX version_of_assembly ON version (assembly);
CREATE TABLE version_pin (
    process  BIGINT NOT NULL REFERENCES version (process),
    assembly TEXT   NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    package  TEXT   NOT NULL REFERENCES package (digest),
    PRIMARY KEY (process, package)
);
CREATE INDEX version_pin_of_assembly ON version_pin (assembly);
CREATE INDEX version_pin_of_package ON version_pin (package);
CREATE TABLE stop (
    process BIGINT NOT NULL PRIMARY KEY REFERENCES process (id)
);

-- The feed. No event is ever deleted.
CREATE TABLE event (
    seq      BIGINT NOT NULL PRIMARY KEY,
    assembly TEXT   NOT NULL,
    record   TEXT   NOT NULL
);
CREATE INDEX event_of_assembly ON event (assembly, seq);
