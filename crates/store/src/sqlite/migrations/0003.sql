-- Version 3: intents that are left for whoever takes the lease. `sealed` is what exactly is asked, until it is ended.

CREATE TABLE request (
    id       INTEGER NOT NULL PRIMARY KEY,
    assembly TEXT    NOT NULL,
    open     INTEGER NOT NULL CHECK (open IN (0, 1)),
    record   TEXT    NOT NULL,
    sealed   BLOB
) STRICT;
CREATE INDEX request_open ON request (id) WHERE open = 1;

CREATE INDEX process_open ON process (id) WHERE open = 1;
