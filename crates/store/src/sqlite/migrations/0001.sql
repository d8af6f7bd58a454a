-- Version 1. Rows are `record` documents of windlass-model; other columns are there to find them, and to hold what
-- belongs together.

-- The store itself: one row.
CREATE TABLE store (
    one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    id        TEXT    NOT NULL,
    created   INTEGER NOT NULL,  -- milliseconds since 1970, as every time here
    key_check BLOB    NOT NULL,  -- something known, sealed: tells a wrong key
    reserved  INTEGER NOT NULL   -- the last process id given out
) STRICT;

-- The last epoch of each assembly's lease; the holder is null when the lease was given back.
CREATE TABLE lease (
    scope   TEXT    NOT NULL PRIMARY KEY,
    epoch   INTEGER NOT NULL,
    holder  TEXT,
    since   INTEGER NOT NULL,
    renewed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What goes with its assembly.

CREATE TABLE assembly (
    name   TEXT NOT NULL PRIMARY KEY,
    record TEXT NOT NULL
) STRICT;

CREATE TABLE element (
    name     TEXT NOT NULL PRIMARY KEY,
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    record   TEXT NOT NULL
) STRICT;
CREATE INDEX element_of_assembly ON element (assembly);

CREATE TABLE instance (
    element  TEXT NOT NULL PRIMARY KEY,
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    record   TEXT NOT NULL
) STRICT;
CREATE INDEX instance_of_assembly ON instance (assembly);

CREATE TABLE pair (
    element      TEXT NOT NULL,
    relationship TEXT NOT NULL,
    source       TEXT NOT NULL,
    target       TEXT NOT NULL,
    assembly     TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    record       TEXT NOT NULL,
    PRIMARY KEY (element, relationship, source, target)
) STRICT;
CREATE INDEX pair_of_assembly ON pair (assembly);

CREATE TABLE secret (
    id       TEXT NOT NULL PRIMARY KEY,
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    sealed   BLOB NOT NULL
) STRICT;
CREATE INDEX secret_of_assembly ON secret (assembly);

-- Packages: once each, however many assemblies pin them.

CREATE TABLE package (
    digest   TEXT NOT NULL PRIMARY KEY,
    name     TEXT NOT NULL,
    manifest TEXT NOT NULL
) STRICT;

CREATE TABLE package_file (
    package    TEXT    NOT NULL REFERENCES package (digest) ON DELETE CASCADE,
    path       TEXT    NOT NULL,
    executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
    content    BLOB    NOT NULL,
    PRIMARY KEY (package, path)
) STRICT;

CREATE TABLE pin (
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    package  TEXT NOT NULL REFERENCES package (digest),
    PRIMARY KEY (assembly, package)
) STRICT, WITHOUT ROWID;
CREATE INDEX pin_of_package ON pin (package);

-- What stays when the assembly goes. A step has many calls, a call many jobs, and a job serves many calls.

CREATE TABLE process (
    id       INTEGER NOT NULL PRIMARY KEY,
    assembly TEXT    NOT NULL,
    open     INTEGER NOT NULL CHECK (open IN (0, 1)),
    record   TEXT    NOT NULL
) STRICT;
CREATE INDEX process_of_assembly ON process (assembly);

CREATE TABLE step (
    process INTEGER NOT NULL REFERENCES process (id),
    step    INTEGER NOT NULL,
    record  TEXT    NOT NULL,
    PRIMARY KEY (process, step)
) STRICT;

CREATE TABLE call (
    place   INTEGER NOT NULL PRIMARY KEY,  -- the order of first recording
    id      TEXT    NOT NULL UNIQUE,
    process INTEGER NOT NULL,
    step    INTEGER NOT NULL,
    open    INTEGER NOT NULL CHECK (open IN (0, 1)),
    record  TEXT    NOT NULL,
    FOREIGN KEY (process, step) REFERENCES step (process, step)
) STRICT;
CREATE INDEX call_of_step ON call (process, step);
CREATE INDEX call_open ON call (process) WHERE open = 1;

CREATE TABLE job (
    place  INTEGER NOT NULL PRIMARY KEY,  -- the order of first recording
    id     TEXT    NOT NULL UNIQUE,
    record TEXT    NOT NULL
) STRICT;

CREATE TABLE job_call (
    job  TEXT NOT NULL REFERENCES job (id),
    call TEXT NOT NULL REFERENCES call (id),
    PRIMARY KEY (job, call)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_call_of_call ON job_call (call);

-- The feed. No AUTOINCREMENT: it would leave a hole where a batch is taken back. No event is ever deleted.
CREATE TABLE event (
    seq      INTEGER NOT NULL PRIMARY KEY,
    assembly TEXT    NOT NULL,
    record   TEXT    NOT NULL
) STRICT;
