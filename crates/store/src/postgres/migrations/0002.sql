-- Version 2: intents that are left for whoever takes the lease. `sealed` is what exactly is asked, until it is ended.
CREATE TABLE request (
    id       BIGINT  NOT NULL PRIMARY KEY,
    assembly TEXT    NOT NULL,
    open     BOOLEAN NOT NULL,
    record   TEXT    NOT NULL,
    sealed   BYTEA
);
CREATE INDEX request_open ON request (id) WHERE open;

CREATE INDEX process_open ON process (id) WHERE open;
