-- Version 5: versions as what is different from the one before, who references whom as rows, and what is read newest first.

-- The version that `record` tells the difference from; null where `record` is whole.
ALTER TABLE version ADD COLUMN base INTEGER;

CREATE TABLE reference (
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    target   TEXT NOT NULL,
    PRIMARY KEY (assembly, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_to ON reference (target);
INSERT INTO reference (assembly, target)
    SELECT DISTINCT assembly.name, told.value
    FROM assembly, json_each(assembly.record, '$.references') AS told;
