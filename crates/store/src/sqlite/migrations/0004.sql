-- Version 4: when a lease was renewed by a clock that nobody sets, beside the one on the wall. Ticks are those of one boot.

ALTER TABLE lease ADD COLUMN boot TEXT;
ALTER TABLE lease ADD COLUMN tick INTEGER;
