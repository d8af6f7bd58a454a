-- Version 4: documents of other crates, and the owners and natural ids of assemblies.

-- The number of the last change of a document.
ALTER TABLE feed ADD COLUMN documents BIGINT NOT NULL DEFAULT 0;

-- `scope` is the name of the assembly, and empty for the project.
CREATE TABLE document (
    scope    TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    assembly TEXT    REFERENCES assembly (name) ON DELETE CASCADE,
    revision BIGINT  NOT NULL,
    version  BIGINT  NOT NULL,
    body     TEXT    NOT NULL,
    sealed   BYTEA,
    PRIMARY KEY (scope, kind, name)
);
CREATE INDEX document_of_assembly ON document (assembly);

CREATE TABLE document_pin (
    scope   TEXT NOT NULL,
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    package TEXT NOT NULL REFERENCES package (digest),
    PRIMARY KEY (scope, kind, name, package),
    FOREIGN KEY (scope, kind, name) REFERENCES document (scope, kind, name) ON DELETE CASCADE
);
CREATE INDEX document_pin_of_package ON document_pin (package);

ALTER TABLE assembly ADD COLUMN owner TEXT;
ALTER TABLE assembly ADD COLUMN natural_id TEXT;
CREATE INDEX assembly_of_owner ON assembly (owner, name) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX assembly_natural_id ON assembly (owner, natural_id) WHERE natural_id IS NOT NULL;
