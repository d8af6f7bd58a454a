//! The schema's versions, and the migrations between them.
//!
//! `PRAGMA user_version` counts the migrations that were applied to a file. A released migration never
//! changes: a later change is the next file in `migrations/`.

use rusqlite::Connection;

use super::fault::Outcome;

/// The value of `PRAGMA application_id` in each store: "WNDL" in ASCII.
pub(super) const APPLICATION: i32 = 0x574e_444c;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
];

/// The newest version of the schema that this program knows.
#[expect(clippy::cast_possible_truncation, reason = "a program does not hold 2³² migrations")]
pub(super) const KNOWN: u32 = MIGRATIONS.len() as u32;

/// The kind of a file, according to its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A new file, or a store whose creation was interrupted.
    Empty,
    /// A store with this version of its schema. The version may be newer than [`KNOWN`].
    Version(u32),
    /// A database of another program.
    Foreign,
}

/// Inspects a file without changing it. Must run within a transaction, because it reads several values.
pub(super) fn inspect(db: &Connection) -> Outcome<Found> {
    let application: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: u32 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: u32 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version, tables) {
        (0, 0, 0) => Found::Empty,
        (APPLICATION, version, _) if version > 0 => Found::Version(version),
        _ => Found::Foreign,
    })
}

/// Migrates a file from the schema version `version` to [`KNOWN`]. The version of an empty file is 0. Must run within a
/// transaction.
pub(super) fn migrate(db: &Connection, version: u32) -> Outcome<()> {
    migrate_to(db, version, KNOWN)
}

fn migrate_to(db: &Connection, from: u32, to: u32) -> Outcome<()> {
    for (done, migration) in (1..=to).zip(MIGRATIONS).skip(from as usize) {
        db.execute_batch(migration)?;
        db.pragma_update(None, "user_version", done)?;
    }
    db.pragma_update(None, "application_id", APPLICATION)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(db: &Connection) -> Vec<String> {
        let mut select =
            db.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
        let rows = select.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// Every released version must migrate to the current schema. `tests/it/versions.rs` checks the data of
    /// older versions.
    #[test]
    fn every_older_version_becomes_the_current_one() {
        let current = Connection::open_in_memory().unwrap();
        migrate(&current, 0).unwrap();
        for old in 1..=KNOWN {
            let db = Connection::open_in_memory().unwrap();
            migrate_to(&db, 0, old).unwrap();
            assert_eq!(inspect(&db).unwrap(), Found::Version(old));
            migrate(&db, old).unwrap();
            assert_eq!(inspect(&db).unwrap(), Found::Version(KNOWN));
            assert_eq!(schema(&db), schema(&current), "from version {old}");
        }
    }

    #[test]
    fn tells_its_own_files_from_others() {
        let db = Connection::open_in_memory().unwrap();
        assert_eq!(inspect(&db).unwrap(), Found::Empty);
        db.execute_batch("CREATE TABLE theirs (x) STRICT;").unwrap_err();
        db.execute_batch("CREATE TABLE theirs (x INTEGER) STRICT;").unwrap();
        assert_eq!(inspect(&db).unwrap(), Found::Foreign);
    }

    #[test]
    fn every_table_is_strict() {
        let db = Connection::open_in_memory().unwrap();
        migrate(&db, 0).unwrap();
        let mut select =
            db.prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0").unwrap();
        let loose: Vec<String> =
            select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(loose, ["sqlite_schema"]);
    }
}
