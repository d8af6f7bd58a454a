-- A natural id is claimed among the assemblies of all owners.
CREATE INDEX assembly_by_natural_id ON assembly (natural_id) WHERE natural_id IS NOT NULL;
