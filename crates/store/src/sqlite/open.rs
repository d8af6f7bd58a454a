//! Opens a store file: identifies it, checks that it is a windlass store, and migrates it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};
use windlass_model::id::StoreId;

use super::fault::{Fault, Outcome};
use super::frozen::Frozen;
use super::identity::{FileIdentity, io_error, metadata};
use super::options::Options;
use super::schema::{self, Found};
use crate::error::StoreError;
use crate::key::{KeyError, KeySource};
use crate::seal::Seal;

/// A store that was opened and checked.
pub(super) struct Opened {
    pub(super) db: Connection,
    pub(super) id: StoreId,
    pub(super) file: FileIdentity,
    pub(super) seal: Seal,
    /// Set if the store can only be read.
    pub(super) frozen: Option<Frozen>,
}

/// Opens the store at `path`.
///
/// SQLite normally needs a second file beside the file of the store, even for reading. If the folder is read-only or
/// its disk is full, SQLite can't create the second file. The options then determine what happens:
///
/// - If the options permit the creation of a store, the caller wants to write. So the function returns
///   [`StoreError::ReadOnly`] or [`StoreError::Full`].
/// - Otherwise, the function opens the store for reading only. SQLite then reads the store's file without locks, and
///   needs no second file.
pub(super) fn open(path: &Path, options: &Options) -> Result<Opened, StoreError> {
    match open_to_write(path, options) {
        Err(reason @ (StoreError::ReadOnly { .. } | StoreError::Full { .. })) if !options.create => {
            Frozen::at(path, reason.clone()).map_or(Err(reason), |frozen| open_to_read(path, options, frozen))
        }
        opened => opened,
    }
}

fn open_to_read(path: &Path, options: &Options, frozen: Frozen) -> Result<Opened, StoreError> {
    let file = FileIdentity::of(path)?;
    let mut db = frozen.connect()?;
    let found = inspect(&mut db).map_err(|fault| fault.at(path))?;
    check(path, found, options.create)?;
    if found != Found::Version(schema::KNOWN) {
        return Err(frozen.reason);
    }
    let mut seal = Seal::of_existing(&options.key, &options.entropy);
    let id = identify(&db, path, &mut seal, &options.key).map_err(|fault| fault.at(path))?;
    frozen.check()?;
    Ok(Opened { db, id, file, seal, frozen: Some(frozen) })
}

fn open_to_write(path: &Path, options: &Options) -> Result<Opened, StoreError> {
    if options.create {
        make_file(path)?;
    }
    let file = FileIdentity::of(path)?;
    let mut db = connect(path, options.own.busy_timeout)?;
    let found = inspect(&mut db).map_err(|fault| fault.at(path))?;
    check(path, found, options.create)?;
    prepare(&db, options).map_err(|fault| fault.at(path))?;
    let mut seal = match found {
        Found::Empty => Seal::of_new(&options.key, &options.entropy)?,
        Found::Foreign | Found::Version(_) => Seal::of_existing(&options.key, &options.entropy),
    };
    let id = bring_up_to_date(&mut db, path, found, &mut seal, options).map_err(|fault| fault.at(path))?;
    Ok(Opened { db, id, file, seal, frozen: None })
}

/// Opens a connection to the file at `path` without changing the file.
pub(super) fn connect(path: &Path, busy: Duration) -> Result<Connection, StoreError> {
    // SQLite interprets some relative names specially, such as `:memory:`.
    let file = std::path::absolute(path).map_err(|error| io_error("find", path, error))?;
    // SQLite would block on a named pipe, and would treat a device as a file.
    if !metadata(&file, path)?.is_file() {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags).and_then(|db| {
        db.busy_timeout(busy)?;
        // Without stable plans, SQLite parses some statements again for each value of a parameter.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(db)
    });
    db.map_err(|error| Fault::from(error).at(path))
}

/// Creates the file `path` and its folder if they do not exist. The new file is empty, and only the current user
/// may read it.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folders = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    folders.map_err(|error| io_error("make the folder", folder, error))?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => sync_folder(folder).map_err(|error| io_error("flush the folder", folder, error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io_error("make", path, error)),
    }
}

/// Flushes the entries of a folder to disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn inspect(db: &mut Connection) -> Outcome<Found> {
    schema::inspect(&*db.transaction()?)
}

fn check(path: &Path, found: Found, create: bool) -> Result<(), StoreError> {
    let path = path.to_owned();
    match found {
        Found::Foreign => Err(StoreError::NotAStore { path }),
        Found::Version(found) if found > schema::KNOWN => {
            Err(StoreError::Newer { path, found, known: schema::KNOWN })
        }
        Found::Empty if !create => Err(StoreError::Missing { path }),
        Found::Empty | Found::Version(_) => Ok(()),
    }
}

/// Sets the connection's pragmas, and the journal mode of the file.
fn prepare(db: &Connection, options: &Options) -> Outcome<()> {
    db.set_prepared_statement_cache_capacity(64);
    keep_a_log(db, options.own.busy_timeout)?;
    db.pragma_update(None, "synchronous", "FULL")?;
    // Has an effect only on macOS, where a plain flush does not empty the disk's own cache.
    db.pragma_update(None, "fullfsync", true)?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "secure_delete", true)?;
    // The store runs each write operation in a savepoint. Without this setting, SQLite would keep the journal of
    // the savepoint in a temporary file.
    db.pragma_update(None, "temp_store", "MEMORY")?;
    if let Some(pages) = options.own.max_pages {
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

/// Sets WAL mode. If two programs set this mode for a new file at the same time, SQLite refuses one of the programs
/// at once, without waiting for the busy timeout. So this function retries by itself.
fn keep_a_log(db: &Connection, busy: Duration) -> Outcome<()> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    loop {
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < busy => {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            outcome => return Ok(outcome?),
        }
    }
}

/// Creates or migrates the tables, and returns the id of the store. Also checks the key in `seal`, and discards
/// the key if it is not the key of this store (see [`Seal::verify`]).
///
/// Takes the write lock only if `found` is not the current version. So a store of the current version can be
/// opened while another program writes.
fn bring_up_to_date(
    db: &mut Connection,
    path: &Path,
    found: Found,
    seal: &mut Seal,
    options: &Options,
) -> Outcome<StoreId> {
    let behavior = match found {
        Found::Version(schema::KNOWN) => TransactionBehavior::Deferred,
        Found::Empty | Found::Foreign | Found::Version(_) => TransactionBehavior::Immediate,
    };
    let transaction = db.transaction_with_behavior(behavior)?;
    // The file is inspected again, because another program may have migrated it in the meantime.
    let found = schema::inspect(&transaction)?;
    check(path, found, true)?;
    match found {
        Found::Version(schema::KNOWN) => {}
        Found::Version(version) => schema::migrate(&transaction, version)?,
        Found::Empty | Found::Foreign => {
            schema::migrate(&transaction, 0)?;
            found_store(&transaction, seal, options)?;
        }
    }
    let id = identify(&transaction, path, seal, &options.key)?;
    transaction.commit()?;
    Ok(id)
}

/// Writes the only row of the table `store`. The row contains the id of the store, and a fixed value that is sealed
/// with the store's key. Each program that opens the store decrypts this value to check its own key.
fn found_store(db: &Connection, seal: &Seal, options: &Options) -> Outcome<()> {
    let id = StoreId::random(&*options.entropy);
    db.execute(
        "INSERT INTO store (one, id, created, key_check, reserved) VALUES (1, ?1, ?2, ?3, 0)",
        (id.as_str(), options.clock.now().as_millis(), seal.check_value()?),
    )?;
    Ok(())
}

fn identify(db: &Connection, path: &Path, seal: &mut Seal, key: &KeySource) -> Outcome<StoreId> {
    let row = db.query_row("SELECT id, key_check FROM store", [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (id, key_check): (String, Vec<u8>) =
        row.optional()?.ok_or_else(|| Fault::Damaged("it has no id".into()))?;
    seal.verify(&key_check, || KeyError::Wrong { key: key.to_string(), path: path.to_owned() });
    id.parse().map_err(|error| Fault::Damaged(format!("its id is bad: {error}")))
}
