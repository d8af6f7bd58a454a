-- Version 3: versions as what is different from the one before, who references whom as rows, and what is read newest first.

-- The version that `record` tells the difference from; null where `record` is whole.
ALTER TABLE version ADD COLUMN base BIGINT;
CREATE INDEX version_by_process ON version (assembly, process);
DROP INDEX version_of_assembly;

CREATE INDEX process_by_id ON process (assembly, id);
DROP INDEX process_of_assembly;

CREATE TABLE reference (
    assembly TEXT NOT NULL REFERENCES assembly (name) ON DELETE CASCADE,
    target   TEXT NOT NULL,
    PRIMARY KEY (assembly, target)
);
CREATE INDEX reference_to ON reference (target);
INSERT INTO reference (assembly, target)
    SELECT DISTINCT assembly.name, told.value
    FROM assembly, LATERAL jsonb_array_elements_text(
        CASE WHEN position('"references":[' IN record) > 0
            THEN coalesce(record::jsonb -> 'references', '[]'::jsonb) ELSE '[]'::jsonb END) AS told (value);
