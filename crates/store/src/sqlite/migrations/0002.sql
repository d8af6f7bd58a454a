-- Version 2: what an assembly was asked to be by each process, and who is asked to stop.

CREATE TABLE version (
    process  INTEGER NOT NULL PRIMARY KEY REFERENCES process (id),
    assembly TEXT    NOT NULL,
    record   TEXT    NOT NULL
) STRICT;
CREATE INDEX version_of_assembly ON version (assembly);

-- The packages of versions, as long as their assembly is there.
CREATE TABLE version_pin (
    process  INTEGER NOT NULL REFERENCES version (process),
    assembly TEXT    NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    package  TEXT    NOT NULL REFERENCES package (digest),
    PRIMARY KEY (process, package)
) STRICT, WITHOUT ROWID;
CREATE INDEX version_pin_of_assembly ON version_pin (assembly);
CREATE INDEX version_pin_of_package ON version_pin (package);

CREATE TABLE stop (
    process INTEGER NOT NULL PRIMARY KEY REFERENCES process (id)
) STRICT;

CREATE INDEX event_of_assembly ON event (assembly, seq);
